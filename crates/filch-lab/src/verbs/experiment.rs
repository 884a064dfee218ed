//! `filch experiment`: one of the named experiments.

use crate::error::Result;
use crate::experiments::find;
use crate::flags::{Experiment as Flags, Size};
use crate::perform::perform;

pub(crate) fn experiment(flags: &Flags) -> Result {
    let mut experiment = find(&flags.name)?;
    let size = flags.session.size_or(Size::Small);
    experiment.effort = experiment.effort.at(size);
    perform(experiment, size, &flags.session)?.end()
}
