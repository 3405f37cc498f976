// The part of libsrtp 3's interface that the mediasoup worker uses, over libsrtp 2 with the ciphers of OpenSSL.
#pragma once

#include <srtp2/srtp.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

// Error codes that libsrtp 3 added after the last one of libsrtp 2.
#define srtp_err_status_buffer_small static_cast<srtp_err_status_t>(srtp_err_status_pkt_idx_adv + 1)
#define srtp_err_status_cryptex_err static_cast<srtp_err_status_t>(srtp_err_status_pkt_idx_adv + 2)

// libsrtp 3 keeps the key inside an opaque policy; libsrtp 2's policy only points at it.
struct srtp3_policy {
  srtp_policy_t policy{};
  uint8_t key[SRTP_MAX_KEY_LEN]{};
};
using srtp3_policy_t = srtp3_policy*;

inline srtp_err_status_t srtp_policy_create(srtp3_policy_t* out) {
  *out = new srtp3_policy();
  (*out)->policy.key = (*out)->key;
  return srtp_err_status_ok;
}

inline void srtp_policy_destroy(srtp3_policy_t policy) {
  if (policy != nullptr) {
    // The barrier is the pointer itself: a plain memset of memory about to be freed is dropped by the compiler.
    volatile uint8_t* key = policy->key;
    for (size_t i = 0; i < sizeof(policy->key); ++i) key[i] = 0;
  }
  delete policy;
}

inline srtp_err_status_t srtp_policy_set_ssrc(srtp3_policy_t policy, srtp_ssrc_t ssrc) {
  policy->policy.ssrc = ssrc;
  return srtp_err_status_ok;
}

inline srtp_err_status_t srtp_policy_set_profile(srtp3_policy_t policy, srtp_profile_t profile) {
  const auto status = srtp_crypto_policy_set_from_profile_for_rtp(&policy->policy.rtp, profile);
  if (status != srtp_err_status_ok) return status;
  return srtp_crypto_policy_set_from_profile_for_rtcp(&policy->policy.rtcp, profile);
}

inline srtp_err_status_t srtp_policy_add_key(
    srtp3_policy_t policy, const uint8_t* key, size_t keyLength, const uint8_t* salt, size_t saltLength, const uint8_t*, size_t) {
  if (keyLength + saltLength > sizeof(policy->key)) return srtp_err_status_bad_param;
  memcpy(policy->key, key, keyLength);
  memcpy(policy->key + keyLength, salt, saltLength);
  return srtp_err_status_ok;
}

inline srtp_err_status_t srtp_policy_set_allow_repeat_tx(srtp3_policy_t policy, bool allow) {
  policy->policy.allow_repeat_tx = allow;
  return srtp_err_status_ok;
}

inline srtp_err_status_t srtp_policy_set_window_size(srtp3_policy_t policy, size_t size) {
  policy->policy.window_size = size;
  return srtp_err_status_ok;
}

inline srtp_err_status_t srtp_create(srtp_t* session, srtp3_policy_t policy) {
  return srtp_create(session, static_cast<const srtp_policy_t*>(&policy->policy));
}

inline srtp_err_status_t srtp_stream_remove(srtp_t session, uint32_t ssrc) {
  return srtp_remove_stream(session, ssrc);
}

// libsrtp 2 works in place; libsrtp 3 reads one buffer and writes another, of a stated size.
using srtp2_in_place = srtp_err_status_t (*)(srtp_t, void*, int*);

inline srtp_err_status_t srtp3_apply(
    srtp2_in_place apply, size_t growth, srtp_t session, const uint8_t* in, size_t inLength, uint8_t* out, size_t* outLength) {
  if (*outLength < inLength + growth) return srtp_err_status_buffer_small;
  if (out != in) memmove(out, in, inLength);
  int length = static_cast<int>(inLength);
  const auto status = apply(session, out, &length);
  *outLength = static_cast<size_t>(length);
  return status;
}

inline srtp_err_status_t srtp_protect(srtp_t session, const uint8_t* in, size_t inLength, uint8_t* out, size_t* outLength, size_t) {
  return srtp3_apply(srtp_protect, SRTP_MAX_TRAILER_LEN, session, in, inLength, out, outLength);
}

inline srtp_err_status_t srtp_protect_rtcp(srtp_t session, const uint8_t* in, size_t inLength, uint8_t* out, size_t* outLength, size_t) {
  return srtp3_apply(srtp_protect_rtcp, SRTP_MAX_TRAILER_LEN, session, in, inLength, out, outLength);
}

inline srtp_err_status_t srtp_unprotect(srtp_t session, const uint8_t* in, size_t inLength, uint8_t* out, size_t* outLength) {
  return srtp3_apply(srtp_unprotect, 0, session, in, inLength, out, outLength);
}

inline srtp_err_status_t srtp_unprotect_rtcp(srtp_t session, const uint8_t* in, size_t inLength, uint8_t* out, size_t* outLength) {
  return srtp3_apply(srtp_unprotect_rtcp, 0, session, in, inLength, out, outLength);
}

// In ciphers.cpp.
srtp_err_status_t srtp3_use_openssl();

inline srtp_err_status_t srtp3_init() {
  const auto status = srtp_init();
  return status == srtp_err_status_ok ? srtp3_use_openssl() : status;
}
#define srtp_init srtp3_init

// Last: the worker's `srtp_policy_t` is libsrtp 3's opaque pointer.
#define srtp_policy_t srtp3_policy_t
