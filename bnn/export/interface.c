/* Mean and standard deviation (epistemic) of a fitted estimator, with their gradients, in C99. */

#include <math.h>

/* Once, before the other functions and before threads start. Returns 0, or 1 if rounding leaves a
   matrix without a Cholesky factor. */
int surrogate_init(void);

/* At n points x (n, N_IN), arrays by rows: mean and std (n, N_OUT), their gradients (n, N_OUT, N_IN);
   any of these four may be a null pointer. Returns 0, or 1 without surrogate_init. */
int surrogate(int n, const double *x, double *mean, double *std, double *dmean, double *dstd);

/* TABLES */
static int ready;
static void point(const double *x, int columns, double mean[][N_OUT], double std[][N_OUT]);

int surrogate(int n, const double *x, double *mean, double *std, double *dmean, double *dstd)
{
    int columns = dmean || dstd ? 1 + N_IN : 1;
    for (long p = 0; ready && p < n; p++) {
        double m[1 + N_IN][N_OUT], s[1 + N_IN][N_OUT];
        point(x + p * N_IN, columns, m, s);
        for (long j = 0; j < N_OUT; j++) {
            if (mean) mean[p * N_OUT + j] = m[0][j];
            if (std) std[p * N_OUT + j] = s[0][j];
            for (long i = 0; i < N_IN; i++) {
                if (dmean) dmean[(p * N_OUT + j) * N_IN + i] = m[1 + i][j];
                if (dstd) dstd[(p * N_OUT + j) * N_IN + i] = s[1 + i][j];
            }
        }
    }
    return !ready;
}

