/* The few MPI calls of filch-mpi, with types of a fixed size: handles differ between MPIs. Errors end the job, which is MPI's default. */
#include <mpi.h>
#include <stdlib.h>

/* Returns whether threads may call MPI one at a time. */
int filch_mpi_init(int *rank, int *size) {
    int provided = 0;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, rank);
    MPI_Comm_size(MPI_COMM_WORLD, size);
    return provided >= MPI_THREAD_SERIALIZED;
}

/* Writes for each rank the first rank on its node. */
void filch_mpi_nodes(int *nodes) {
    int rank = 0, first = 0;
    MPI_Comm node;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node);
    first = rank;
    MPI_Bcast(&first, 1, MPI_INT, 0, node);
    MPI_Comm_free(&node);
    MPI_Allgather(&first, 1, MPI_INT, nodes, 1, MPI_INT, MPI_COMM_WORLD);
}

void filch_mpi_finalize(void) { MPI_Finalize(); }

void filch_mpi_abort(int status) { MPI_Abort(MPI_COMM_WORLD, status); }

/* Starts to send; the bytes stay until `filch_mpi_sent` has returned 1. Returns NULL if there is no memory. */
void *filch_mpi_send(const unsigned char *bytes, int count, int to, int tag) {
    MPI_Request *request = malloc(sizeof *request);
    if (request != NULL)
        MPI_Isend(bytes, count, MPI_BYTE, to, tag, MPI_COMM_WORLD, request);
    return request;
}

/* Returns 1 and frees the request if the message is sent. */
int filch_mpi_sent(void *request) {
    int done = 0;
    MPI_Test(request, &done, MPI_STATUS_IGNORE);
    if (done)
        free(request);
    return done;
}

/* Returns the length of the next message with this tag, or -1. */
int filch_mpi_probe(int tag, int *from) {
    int found = 0, count = -1;
    MPI_Status status;
    MPI_Iprobe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &found, &status);
    if (!found)
        return -1;
    MPI_Get_count(&status, MPI_BYTE, &count);
    *from = status.MPI_SOURCE;
    return count;
}

/* Receives the message that was probed. */
void filch_mpi_receive(unsigned char *bytes, int count, int from, int tag) {
    MPI_Recv(bytes, count, MPI_BYTE, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
