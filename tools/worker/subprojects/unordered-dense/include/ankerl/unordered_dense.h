// ankerl::unordered_dense::map, set and hash, as the mediasoup worker uses them, over the standard containers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace ankerl::unordered_dense {

inline namespace v4_8_1 {
namespace detail::wyhash {

inline uint64_t mix(uint64_t a, uint64_t b) {
  const __uint128_t product = static_cast<__uint128_t>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

inline uint64_t hash(uint64_t x) {
  return mix(x, UINT64_C(0x9E3779B97F4A7C15));
}

inline uint64_t hash(const void* key, size_t length) {
  return std::hash<std::string_view>{}({static_cast<const char*>(key), length});
}

}  // namespace detail::wyhash
}  // namespace v4_8_1

template <typename T, typename Enable = void>
struct hash : std::hash<T> {};

template <typename Key, typename Value, typename Hash = hash<Key>, typename Equal = std::equal_to<Key>>
using map = std::unordered_map<Key, Value, Hash, Equal>;

template <typename Key, typename Hash = hash<Key>, typename Equal = std::equal_to<Key>>
using set = std::unordered_set<Key, Hash, Equal>;

}  // namespace ankerl::unordered_dense
