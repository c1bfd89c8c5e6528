// The same work in one fused loop: every client's K steps run with its weights in cache, no temporary leaves it.
//
// All products are one microkernel, C[m, n] = sum_k A(m, k) B[k, n], that keeps a tile of C in vector registers, reads B
// in vectors along n and spreads numbers of A. Forward: Z[o, b] = W[o, i] X[i, b]. Backward: dH[i, b] = W[o, i] dZ[o, b]
// and W[o, i] -= r dZ[o, b] X[b, i], where the tile is added to W when it is complete.
#include <cmath>
#include <cstring>
#include <vector>

namespace {

constexpr int V = 16;  // floats in a vector
typedef float vec __attribute__((vector_size(4 * V), aligned(4)));

inline vec load(const float *p) { return *reinterpret_cast<const vec *>(p); }
inline void store(float *p, vec v) { *reinterpret_cast<vec *>(p) = v; }

// A(m, k) = a[m * row + k * col]; C[m, n] = start + scale * product, where start is C itself, or bias[m].
template <int M, int N>
inline void tile(int K, const float *a, long row, long col, const float *b, long ldb, float *c, long ldc, float scale,
                 const float *bias) {
  vec sum[M][N] = {};
  for (int k = 0; k < K; ++k) {
    vec right[N];
    for (int n = 0; n < N; ++n) right[n] = load(b + k * ldb + n * V);
    for (int m = 0; m < M; ++m) {
      const float left = a[m * row + k * col];
      for (int n = 0; n < N; ++n) sum[m][n] += left * right[n];
    }
  }
  for (int m = 0; m < M; ++m)
    for (int n = 0; n < N; ++n) {
      float *at = c + m * ldc + n * V;
      store(at, bias ? sum[m][n] + bias[m] : load(at) + scale * sum[m][n]);
    }
}

template <int N>
void columns(int M, int K, const float *a, long row, long col, const float *b, long ldb, float *c, long ldc,
             float scale, const float *bias) {
  int m = 0;
  for (; m + 8 <= M; m += 8)
    tile<8, N>(K, a + m * row, row, col, b, ldb, c + m * ldc, ldc, scale, bias ? bias + m : nullptr);
  for (; m + 2 <= M; m += 2)
    tile<2, N>(K, a + m * row, row, col, b, ldb, c + m * ldc, ldc, scale, bias ? bias + m : nullptr);
  for (; m < M; ++m)
    tile<1, N>(K, a + m * row, row, col, b, ldb, c + m * ldc, ldc, scale, bias ? bias + m : nullptr);
}

// n is a multiple of V.
void product(int M, int n, int K, const float *a, long row, long col, const float *b, long ldb, float *c, long ldc,
             float scale, const float *bias) {
  int at = 0;
  for (; at + 2 * V <= n; at += 2 * V) columns<2>(M, K, a, row, col, b + at, ldb, c + at, ldc, scale, bias);
  for (; at < n; at += V) columns<1>(M, K, a, row, col, b + at, ldb, c + at, ldc, scale, bias);
}

int padded(int n) { return (n + V - 1) / V * V; }

struct Client {
  std::vector<std::vector<float>> W, bias, h, t, d;  // h, d: [features, b]; t: the same, [b, features]
};

}  // namespace

// One round of FedAvg. sizes[layers + 1]; x: of every layer W [outputs, inputs], then its bias; inputs
// [clients, K, b, features] and classes [clients, K, b]; b is a multiple of V.
extern "C" void one_round(int layers, const int *sizes, int clients, int K, int b, float eta, const float *inputs,
                          const int *classes, float *x, int threads) {
  long d = 0;
  for (int l = 0; l < layers; ++l) d += (long)sizes[l + 1] * (sizes[l] + 1);
  std::vector<float> total(d, 0.0f);
#pragma omp parallel num_threads(threads)
  {
    Client c;
    std::vector<float> mine(d, 0.0f);
    for (int l = 0; l <= layers; ++l) {
      c.h.emplace_back((long)padded(sizes[l]) * b, 0.0f);
      c.t.emplace_back((long)padded(sizes[l]) * b, 0.0f);
      c.d.emplace_back((long)padded(sizes[l]) * b, 0.0f);
      if (l == layers) break;
      c.W.emplace_back((long)sizes[l + 1] * padded(sizes[l]), 0.0f);
      c.bias.emplace_back(sizes[l + 1], 0.0f);
    }
#pragma omp for schedule(static)
    for (int i = 0; i < clients; ++i) {
      const float *from = x;
      for (int l = 0; l < layers; ++l) {
        for (int o = 0; o < sizes[l + 1]; ++o, from += sizes[l])
          std::memcpy(&c.W[l][(long)o * padded(sizes[l])], from, 4L * sizes[l]);
        std::memcpy(c.bias[l].data(), from, 4L * sizes[l + 1]);
        from += sizes[l + 1];
      }
      for (int k = 0; k < K; ++k) {
        const float *batch = inputs + ((long)i * K + k) * b * sizes[0];
        const int *told = classes + ((long)i * K + k) * b;
        for (int e = 0; e < b; ++e)
          for (int f = 0; f < sizes[0]; ++f)
            c.h[0][(long)f * b + e] = c.t[0][(long)e * padded(sizes[0]) + f] = batch[(long)e * sizes[0] + f];
        for (int l = 0; l < layers; ++l) {
          const int in = sizes[l], out = sizes[l + 1], wide = padded(in), tall = padded(out);
          float *z = c.h[l + 1].data();
          product(out, b, in, c.W[l].data(), wide, 1, c.h[l].data(), b, z, b, 1.0f, c.bias[l].data());
          if (l + 1 == layers) break;
          for (long j = 0; j < (long)out * b; ++j) z[j] = z[j] > 0 ? z[j] : 0.0f;
          for (int o = 0; o < out; ++o)
            for (int e = 0; e < b; ++e) c.t[l + 1][(long)e * tall + o] = z[(long)o * b + e];
        }
        // Softmax and its derivative, over the classes of each example.
        const int out = sizes[layers];
        float *z = c.h[layers].data(), *dz = c.d[layers].data();
        std::vector<float> top(b, -INFINITY), sum(b, 0.0f);
        for (int o = 0; o < out; ++o)
          for (int e = 0; e < b; ++e) top[e] = std::fmax(top[e], z[(long)o * b + e]);
        for (int o = 0; o < out; ++o)
          for (int e = 0; e < b; ++e) sum[e] += dz[(long)o * b + e] = std::exp(z[(long)o * b + e] - top[e]);
        for (int o = 0; o < out; ++o)
          for (int e = 0; e < b; ++e) dz[(long)o * b + e] = dz[(long)o * b + e] / (sum[e] * b);
        for (int e = 0; e < b; ++e) dz[(long)told[e] * b + e] -= 1.0f / b;
        for (int l = layers - 1; l >= 0; --l) {
          const int in = sizes[l], out = sizes[l + 1], wide = padded(in);
          const float *dz = c.d[l + 1].data();
          if (l) {
            float *dh = c.d[l].data();
            std::memset(dh, 0, 4L * in * b);
            product(in, b, out, c.W[l].data(), 1, wide, dz, b, dh, b, 1.0f, nullptr);
            const float *h = c.h[l].data();
            for (long j = 0; j < (long)in * b; ++j) dh[j] = h[j] > 0 ? dh[j] : 0.0f;
          }
          product(out, wide, b, dz, b, 1, c.t[l].data(), wide, c.W[l].data(), wide, -eta, nullptr);
          for (int o = 0; o < out; ++o) {
            float s = 0;
            for (int e = 0; e < b; ++e) s += dz[(long)o * b + e];
            c.bias[l][o] -= eta * s;
          }
        }
      }
      float *to = mine.data();
      for (int l = 0; l < layers; ++l) {
        for (int o = 0; o < sizes[l + 1]; ++o)
          for (int f = 0; f < sizes[l]; ++f) *to++ += c.W[l][(long)o * padded(sizes[l]) + f];
        for (int o = 0; o < sizes[l + 1]; ++o) *to++ += c.bias[l][o];
      }
    }
#pragma omp critical
    for (long j = 0; j < d; ++j) total[j] += mine[j];
  }
  for (long j = 0; j < d; ++j) x[j] = total[j] / clients;
}
