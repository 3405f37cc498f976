// AES-GCM, AES-CM and HMAC-SHA1 of libsrtp 2 by OpenSSL. Debian builds libsrtp 2 with NSS, which allocates and locks for each packet.

// HMAC of OpenSSL 3 allocates for each message, SHA1_Update() does not.
#define OPENSSL_SUPPRESS_DEPRECATED

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/sha.h>
#include <srtp2/auth.h>
#include <srtp2/cipher.h>
#include <srtp2/crypto_types.h>

#include <cstring>
#include <initializer_list>
#include <memory>
#include <new>

extern "C" {
// Exported by libsrtp 2, but its header is not installed.
const srtp_cipher_type_t* srtp_crypto_kernel_get_cipher_type(srtp_cipher_type_id_t id);
const srtp_auth_type_t* srtp_crypto_kernel_get_auth_type(srtp_auth_type_id_t id);
}

namespace {

constexpr int saltBytes = 14;
constexpr int blockBytes = 16;
constexpr int sha1BlockBytes = 64;

struct Aes {
  const EVP_CIPHER* cipher;
  int keyBytes;
  int tagBytes;
  // Of AES-CM: the salt.
  uint8_t offset[blockBytes];
  EVP_CIPHER_CTX* context;

  ~Aes() {
    EVP_CIPHER_CTX_free(context);  // Also erases the key.
    OPENSSL_cleanse(offset, sizeof(offset));
  }
};

srtp_err_status_t aesAlloc(srtp_cipher_pointer_t* out, const srtp_cipher_type_t& type, const EVP_CIPHER* cipher, int keyLength, int tagBytes) {
  std::unique_ptr<srtp_cipher_t> made(new (std::nothrow) srtp_cipher_t{});
  std::unique_ptr<Aes> aes(new (std::nothrow) Aes{cipher, EVP_CIPHER_get_key_length(cipher), tagBytes, {}, EVP_CIPHER_CTX_new()});
  if (made == nullptr || aes == nullptr || aes->context == nullptr) return srtp_err_status_alloc_fail;
  *made = {&type, aes.release(), keyLength, static_cast<int>(type.id)};
  *out = made.release();
  return srtp_err_status_ok;
}

// libsrtp frees neither of the two.
srtp_err_status_t aesDealloc(srtp_cipher_pointer_t cipher) {
  delete static_cast<Aes*>(cipher->state);
  delete cipher;
  return srtp_err_status_ok;
}

srtp_err_status_t aesInit(void* state, const uint8_t* key) {
  auto* aes = static_cast<Aes*>(state);
  EVP_CIPHER_CTX_reset(aes->context);
  return EVP_EncryptInit_ex(aes->context, aes->cipher, nullptr, key, nullptr) == 1 ? srtp_err_status_ok : srtp_err_status_init_fail;
}

extern srtp_cipher_type_t gcm128Type;
extern srtp_cipher_type_t gcm256Type;
extern srtp_cipher_type_t cm128Type;
extern srtp_cipher_type_t cm256Type;

srtp_err_status_t gcmAlloc(srtp_cipher_pointer_t* out, int keyLength, int tagBytes) {
  if (tagBytes != 8 && tagBytes != 16) return srtp_err_status_bad_param;
  if (keyLength == SRTP_AES_GCM_128_KEY_LEN_WSALT) return aesAlloc(out, gcm128Type, EVP_aes_128_gcm(), keyLength, tagBytes);
  if (keyLength == SRTP_AES_GCM_256_KEY_LEN_WSALT) return aesAlloc(out, gcm256Type, EVP_aes_256_gcm(), keyLength, tagBytes);
  return srtp_err_status_bad_param;
}

srtp_err_status_t gcmSetIv(void* state, uint8_t* iv, srtp_cipher_direction_t direction) {
  auto* aes = static_cast<Aes*>(state);
  const int encrypts = direction == srtp_direction_encrypt ? 1 : 0;
  return EVP_CipherInit_ex(aes->context, nullptr, nullptr, nullptr, iv, encrypts) == 1 ? srtp_err_status_ok : srtp_err_status_init_fail;
}

srtp_err_status_t gcmSetAad(void* state, const uint8_t* aad, uint32_t length) {
  auto* aes = static_cast<Aes*>(state);
  return EVP_Cipher(aes->context, nullptr, aad, length) == static_cast<int>(length) ? srtp_err_status_ok : srtp_err_status_algo_fail;
}

srtp_err_status_t gcmEncrypt(void* state, uint8_t* buffer, unsigned int* length) {
  auto* aes = static_cast<Aes*>(state);
  // SRTCP that is only authenticated has no text.
  if (*length == 0) return srtp_err_status_ok;
  const int written = EVP_Cipher(aes->context, buffer, buffer, *length);
  return written == static_cast<int>(*length) ? srtp_err_status_ok : srtp_err_status_cipher_fail;
}

srtp_err_status_t gcmGetTag(void* state, uint8_t* buffer, uint32_t* length) {
  auto* aes = static_cast<Aes*>(state);
  if (EVP_Cipher(aes->context, nullptr, nullptr, 0) < 0) return srtp_err_status_algo_fail;
  if (EVP_CIPHER_CTX_ctrl(aes->context, EVP_CTRL_AEAD_GET_TAG, aes->tagBytes, buffer) != 1) return srtp_err_status_algo_fail;
  *length = aes->tagBytes;
  return srtp_err_status_ok;
}

srtp_err_status_t gcmDecrypt(void* state, uint8_t* buffer, unsigned int* length) {
  auto* aes = static_cast<Aes*>(state);
  if (*length < static_cast<unsigned int>(aes->tagBytes)) return srtp_err_status_bad_param;
  const unsigned int text = *length - aes->tagBytes;
  if (EVP_CIPHER_CTX_ctrl(aes->context, EVP_CTRL_AEAD_SET_TAG, aes->tagBytes, buffer + text) != 1) return srtp_err_status_auth_fail;
  if (text != 0 && EVP_Cipher(aes->context, buffer, buffer, text) != static_cast<int>(text)) return srtp_err_status_cipher_fail;
  if (EVP_Cipher(aes->context, nullptr, nullptr, 0) < 0) return srtp_err_status_auth_fail;
  *length = text;
  return srtp_err_status_ok;
}

srtp_err_status_t cmAlloc(srtp_cipher_pointer_t* out, int keyLength, int tagBytes) {
  if (keyLength == SRTP_AES_ICM_128_KEY_LEN_WSALT) return aesAlloc(out, cm128Type, EVP_aes_128_ctr(), keyLength, tagBytes);
  if (keyLength == SRTP_AES_ICM_256_KEY_LEN_WSALT) return aesAlloc(out, cm256Type, EVP_aes_256_ctr(), keyLength, tagBytes);
  return srtp_err_status_bad_param;
}

srtp_err_status_t cmInit(void* state, const uint8_t* keyAndSalt) {
  auto* aes = static_cast<Aes*>(state);
  memcpy(aes->offset, keyAndSalt + aes->keyBytes, saltBytes);
  return aesInit(state, keyAndSalt);
}

// RFC 3711, section 4.1.1: the last two bytes count blocks.
srtp_err_status_t cmSetIv(void* state, uint8_t* iv, srtp_cipher_direction_t) {
  auto* aes = static_cast<Aes*>(state);
  uint8_t counter[blockBytes];
  for (int i = 0; i < blockBytes; ++i) counter[i] = aes->offset[i] ^ iv[i];
  return EVP_EncryptInit_ex(aes->context, nullptr, nullptr, nullptr, counter) == 1 ? srtp_err_status_ok : srtp_err_status_cipher_fail;
}

srtp_err_status_t cmEncrypt(void* state, uint8_t* buffer, unsigned int* length) {
  auto* aes = static_cast<Aes*>(state);
  int written = 0;
  if (EVP_EncryptUpdate(aes->context, buffer, &written, buffer, static_cast<int>(*length)) != 1) return srtp_err_status_cipher_fail;
  *length = static_cast<unsigned int>(written);
  return srtp_err_status_ok;
}

srtp_cipher_type_t gcm128Type{
    gcmAlloc, aesDealloc, aesInit, gcmSetAad, gcmEncrypt, gcmDecrypt, gcmSetIv, gcmGetTag, "AES-128 GCM, OpenSSL", nullptr, SRTP_AES_GCM_128};
srtp_cipher_type_t gcm256Type{
    gcmAlloc, aesDealloc, aesInit, gcmSetAad, gcmEncrypt, gcmDecrypt, gcmSetIv, gcmGetTag, "AES-256 GCM, OpenSSL", nullptr, SRTP_AES_GCM_256};
srtp_cipher_type_t cm128Type{
    cmAlloc, aesDealloc, cmInit, nullptr, cmEncrypt, cmEncrypt, cmSetIv, nullptr, "AES-128 counter mode, OpenSSL", nullptr, SRTP_AES_ICM_128};
srtp_cipher_type_t cm256Type{
    cmAlloc, aesDealloc, cmInit, nullptr, cmEncrypt, cmEncrypt, cmSetIv, nullptr, "AES-256 counter mode, OpenSSL", nullptr, SRTP_AES_ICM_256};

// Hashes that have taken the padded key, and the one of the current message.
struct Hmac {
  SHA_CTX inner;
  SHA_CTX outer;
  SHA_CTX message;
};

extern srtp_auth_type_t hmacType;

srtp_err_status_t hmacAlloc(srtp_auth_pointer_t* out, int keyLength, int tagBytes) {
  if (keyLength > SHA_DIGEST_LENGTH || tagBytes > SHA_DIGEST_LENGTH) return srtp_err_status_bad_param;
  std::unique_ptr<srtp_auth_t> made(new (std::nothrow) srtp_auth_t{});
  std::unique_ptr<Hmac> hmac(new (std::nothrow) Hmac{});
  if (made == nullptr || hmac == nullptr) return srtp_err_status_alloc_fail;
  *made = {&hmacType, hmac.release(), tagBytes, keyLength, 0};
  *out = made.release();
  return srtp_err_status_ok;
}

srtp_err_status_t hmacDealloc(srtp_auth_pointer_t auth) {
  auto* hmac = static_cast<Hmac*>(auth->state);
  OPENSSL_cleanse(hmac, sizeof(*hmac));
  delete hmac;
  delete auth;
  return srtp_err_status_ok;
}

bool startHash(SHA_CTX* hash, const uint8_t* key, int keyLength, uint8_t padding) {
  uint8_t block[sha1BlockBytes];
  memset(block, padding, sizeof(block));
  for (int i = 0; i < keyLength; ++i) block[i] ^= key[i];
  const bool started = SHA1_Init(hash) == 1 && SHA1_Update(hash, block, sizeof(block)) == 1;
  OPENSSL_cleanse(block, sizeof(block));
  return started;
}

srtp_err_status_t hmacInit(void* state, const uint8_t* key, int keyLength) {
  auto* hmac = static_cast<Hmac*>(state);
  if (keyLength > SHA_DIGEST_LENGTH) return srtp_err_status_bad_param;
  if (!startHash(&hmac->inner, key, keyLength, 0x36) || !startHash(&hmac->outer, key, keyLength, 0x5c)) return srtp_err_status_auth_fail;
  hmac->message = hmac->inner;
  return srtp_err_status_ok;
}

srtp_err_status_t hmacStart(void* state) {
  auto* hmac = static_cast<Hmac*>(state);
  hmac->message = hmac->inner;
  return srtp_err_status_ok;
}

srtp_err_status_t hmacUpdate(void* state, const uint8_t* bytes, int length) {
  auto* hmac = static_cast<Hmac*>(state);
  return SHA1_Update(&hmac->message, bytes, static_cast<size_t>(length)) == 1 ? srtp_err_status_ok : srtp_err_status_auth_fail;
}

srtp_err_status_t hmacCompute(void* state, const uint8_t* bytes, int length, int tagBytes, uint8_t* tag) {
  auto* hmac = static_cast<Hmac*>(state);
  if (tagBytes > SHA_DIGEST_LENGTH) return srtp_err_status_bad_param;
  uint8_t digest[SHA_DIGEST_LENGTH];
  SHA_CTX outer = hmac->outer;
  const bool done = SHA1_Update(&hmac->message, bytes, static_cast<size_t>(length)) == 1 && SHA1_Final(digest, &hmac->message) == 1 &&
                    SHA1_Update(&outer, digest, sizeof(digest)) == 1 && SHA1_Final(digest, &outer) == 1;
  if (!done) return srtp_err_status_auth_fail;
  memcpy(tag, digest, static_cast<size_t>(tagBytes));
  return srtp_err_status_ok;
}

srtp_auth_type_t hmacType{
    hmacAlloc, hmacDealloc, hmacInit, hmacCompute, hmacUpdate, hmacStart, "HMAC-SHA1, OpenSSL", nullptr, SRTP_HMAC_SHA1};

}  // namespace

srtp_err_status_t srtp3_use_openssl() {
  // With the test data of the replaced type: libsrtp runs these tests first, and rejects a type that fails one.
  for (auto* type : {&gcm128Type, &gcm256Type, &cm128Type, &cm256Type}) {
    const auto* replaced = srtp_crypto_kernel_get_cipher_type(type->id);
    if (replaced == nullptr) return srtp_err_status_no_such_op;
    type->test_data = replaced->test_data;
    const auto status = srtp_replace_cipher_type(type, type->id);
    if (status != srtp_err_status_ok) return status;
  }
  const auto* replaced = srtp_crypto_kernel_get_auth_type(hmacType.id);
  if (replaced == nullptr) return srtp_err_status_no_such_op;
  hmacType.test_data = replaced->test_data;
  return srtp_replace_auth_type(&hmacType, hmacType.id);
}
