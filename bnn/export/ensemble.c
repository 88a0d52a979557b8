/* Mean and standard deviation over K networks, each evaluated forwards with its derivatives. */

static float weights[K * WEIGHTS]; /* in each layer the kernel (n_in, n_out) by rows, the bias */

int surrogate_init(void)
{
    for (long i = 0; i < (long)K * WEIGHTS; i++) {
        /* Five digits of base 85 are the bits of one number in single precision. */
        union { unsigned int bits; float value; } weight = {0};
        for (int d = 0; d < 5; d++) {
            int c = TEXT[i / ROW][5 * (i % ROW) + d];
            weight.bits = 85u * weight.bits + (unsigned int)(c - '#' - (c > '?') - (c > '\\'));
        }
        weights[i] = weight.value;
    }
    ready = 1;
    return 0;
}

/* One network: values (1, N_OUT), then the derivatives by each of columns - 1 inputs. */
static void member(int k, const double *x, int columns, double values[][N_OUT])
{
    double a[1 + N_IN][WIDEST], z[1 + N_IN][WIDEST];
    const float *w = weights + (long)k * WEIGHTS;
    for (int i = 0; i < N_IN; i++) {
        a[0][i] = (x[i] - IN_CENTRE[i]) / IN_HALF[i];
        for (int c = 1; c < columns; c++)
            a[c][i] = c - 1 == i ? 1.0 / IN_HALF[i] : 0.0;
    }
    for (int l = 0; l < LAYERS; l++) {
        int n = WIDTHS[l], m = WIDTHS[l + 1];
        for (int c = 0; c < columns; c++) {
            for (int j = 0; j < m; j++)
                z[c][j] = c == 0 ? w[n * m + j] : 0.0;
            for (int i = 0; i < n; i++)
                for (int j = 0; j < m; j++)
                    z[c][j] += a[c][i] * w[i * m + j];
        }
        for (int j = 0; j < m; j++) {
            double v = z[0][j], slope = l + 1 < LAYERS ? SLOPE(v) : 1.0;
            a[0][j] = l + 1 < LAYERS ? VALUE(v) : v;
            for (int c = 1; c < columns; c++)
                a[c][j] = slope * z[c][j];
        }
        w += (n + 1) * m;
    }
    for (int j = 0; j < N_OUT; j++) {
        double v = a[0][j] * OUT_HALF[j] + OUT_CENTRE[j];
        int inside = v >= LOW[j] && v <= HIGH[j];
        values[0][j] = v < LOW[j] ? LOW[j] : v > HIGH[j] ? HIGH[j] : v;
        for (int c = 1; c < columns; c++)
            values[c][j] = inside ? a[c][j] * OUT_HALF[j] : 0.0;
    }
}

/* What each network says, values (K, n, N_OUT). Returns 0, or 1 without surrogate_init. */
int surrogate_members(int n, const double *x, double *values)
{
    for (int k = 0; ready && k < K; k++)
        for (int p = 0; p < n; p++)
            member(k, x + (long)p * N_IN, 1, (double(*)[N_OUT])(values + ((long)k * n + p) * N_OUT));
    return !ready;
}

static void point(const double *x, int columns, double mean[][N_OUT], double std[][N_OUT])
{
    double f[K][1 + N_IN][N_OUT];
    for (int k = 0; k < K; k++)
        member(k, x, columns, f[k]);
    for (int j = 0; j < N_OUT; j++)
        for (int c = 0; c < columns; c++) {
            double sum = 0.0, product = 0.0;
            for (int k = 0; k < K; k++)
                sum += f[k][c][j];
            mean[c][j] = sum / K;
            for (int k = 0; k < K; k++)
                product += (f[k][0][j] - mean[0][j]) * (f[k][c][j] - mean[c][j]);
            product /= K - 1;
            std[c][j] = c == 0 ? sqrt(product) : std[0][j] > 0.0 ? product / std[0][j] : 0.0;
        }
}
