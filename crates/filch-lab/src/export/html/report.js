const tip = document.getElementById("tip");
const root = document.documentElement;
let picked = null;

function pick(scheduler) {
  if (scheduler === picked) return;
  picked = scheduler;
  document.body.classList.toggle("picking", scheduler !== null);
  for (const element of document.querySelectorAll(".s"))
    element.classList.toggle("picked", element.dataset.s === scheduler);
}

document.addEventListener("pointermove", event => {
  const target = event.target.closest?.("[data-tip]");
  pick(event.target.closest?.(".s")?.dataset.s ?? null);
  const text = target?.dataset.tip ?? "";
  tip.classList.toggle("on", text !== "");
  if (text === "") return;
  tip.textContent = text;
  const { width, height } = tip.getBoundingClientRect();
  tip.style.left = Math.max(8, Math.min(event.clientX + 14, innerWidth - width - 8)) + "px";
  const below = event.clientY + 16 + height < innerHeight;
  tip.style.top = (below ? event.clientY + 16 : event.clientY - height - 12) + "px";
});
document.addEventListener("pointerleave", () => { tip.classList.remove("on"); pick(null); });

document.getElementById("theme").addEventListener("click", () => {
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
});

document.getElementById("save")?.addEventListener("click", () => {
  const { machines, runs } = JSON.parse(document.getElementById("data").textContent);
  const lines = runs.map(run => JSON.stringify({ ...run, machine: machines[run.machine] }) + "\n");
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob(lines, { type: "application/x-ndjson" }));
  link.download = "filch-runs.jsonl";
  link.click();
  URL.revokeObjectURL(link.href);
});
