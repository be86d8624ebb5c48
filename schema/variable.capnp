# Variables, which are stored sealed, and the keyring that seals them. See runtime/security.
@0xd5a1c1e3f5b2a90d;
using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("nomad::schema");
using import "annotations.capnp".hidden;
using import "annotations.capnp".json;
using import "annotations.capnp".omitEmpty;

# While a variable has a lock, only who knows the lock's id may write it.
struct VariableLock {
  id @0 :Text;
  ttl @1 :Int64;                       # nanoseconds, from one renewal to the next
  lockDelay @2 :Int64;                 # nanoseconds that a lock stays after it was not renewed in time
}

# Only ciphertext: what a variable holds is never part of an object. In the API this is Nomad's
# VariableMetadata.
struct Variable {
  namespace @0 :Text;
  path @1 :Text;
  createTime @2 :Int64;                # Unix nanoseconds
  modifyTime @3 :Int64;
  createIndex @4 :UInt64;
  modifyIndex @5 :UInt64;
  keyId @6 :Text $hidden;              # the root key that sealed it
  data @7 :Data $hidden;               # nonce and ciphertext
  lock @8 :VariableLock $hidden;       # null: it is not locked
}

enum RootKeyState { inactive @0; active @1; rekeying @2; prepublished @3; }

# A root key as it is stored: wrapped, once for each holder. In the API this is Nomad's RootKeyMeta.
struct RootKey {
  # The key sealed for one recipient.
  struct Wrap {
    recipient @0 :Text;                # names a KeyHolder and its public key, a configured secret by its fingerprint, or an external wrapping key
    sealed @1 :Data;
  }

  keyId @0 :Text $json("KeyID");
  algorithm @1 :Text;
  createTime @2 :Int64;                # Unix nanoseconds
  createIndex @3 :UInt64;
  modifyIndex @4 :UInt64;
  state @5 :RootKeyState;
  wraps @6 :List(Wrap) $hidden;
  publishTime @7 :Int64 $omitEmpty;    # Unix nanoseconds: a prepublished one becomes active then
}

# A server that may open root keys: they are wrapped with its public key (X25519). The secret half
# never leaves that server's disk.
struct KeyHolder {
  id @0 :Text;                         # of the server
  publicKey @1 :Data;
  createIndex @2 :UInt64;
  modifyIndex @3 :UInt64;
  opens @4 :List(Text);                # external wrapping keys that it can use: the names of their wraps
}
