# Access control: policies, the tokens and roles that name them, and how tokens are had by signing in
# elsewhere. See docs/internals/access.md.
#
# No row holds a secret that anybody could use: of a token's the state has a hash, by which it is
# found, and what a root key has sealed (runtime/security/keyring.hpp); of a one-time token's only the
# hash. Hashes are BLAKE2b of 32 bytes over the secret in lower case.
@0xd5a1c1e3f5b2a91b;
using Cxx = import "/capnp/c++.capnp";
$Cxx.namespace("nomad::schema");
using import "annotations.capnp".durationText;
using import "annotations.capnp".hidden;
using import "annotations.capnp".json;
using import "annotations.capnp".map;
using import "annotations.capnp".secret;
using import "annotations.capnp".time;
using Common = import "common.capnp";

struct AclPolicy $json("ACLPolicy") {
  # The workloads that have the policy without a token: exactly these.
  struct JobAcl $json("JobACL") {
    namespace @0 :Text;
    jobId @1 :Text $json("JobID");
    group @2 :Text;                    # empty: each of the job
    task @3 :Text;
  }

  name @0 :Text;
  description @1 :Text;
  rules @2 :Text;                      # HCL or JSON: runtime/access/policy
  jobAcl @3 :JobAcl $json("JobACL");
  hash @4 :Data;                       # of all that users say of it
  createIndex @5 :UInt64;
  modifyIndex @6 :UInt64;
  originIndex @7 :UInt64 $hidden;      # of a copy: its modifyIndex in the authoritative region
}

struct AclToken $json("ACLToken") {
  struct RoleLink $json("ACLTokenRoleLink") {
    id @0 :Text $json("ID");
    name @1 :Text;                     # of requests; never stored, because roles are renamed
  }

  accessorId @0 :Text $json("AccessorID");
  secretId @1 :Text $json("SecretID") $secret;  # of requests; never stored
  name @2 :Text;
  type @3 :Text;                       # client, management
  policies @4 :List(Text);
  roles @5 :List(RoleLink);
  global @6 :Bool;
  hash @7 :Data;
  createTime @8 :Int64 $time;
  expirationTime @9 :Int64 $time;  # Unix nanoseconds; 0 is never
  expirationTtl @10 :Int64 $json("ExpirationTTL") $durationText;
  createIndex @11 :UInt64;
  modifyIndex @12 :UInt64;
  secretHash @13 :Data $hidden;
  keyId @14 :Text $hidden;             # the root key that sealed the secret
  sealed @15 :Data $hidden;
  originIndex @16 :UInt64 $hidden;      # of a copy: its modifyIndex in the authoritative region
}

# Exchanged once, for the secret of the token that made it.
struct AclOneTimeToken $json("OneTimeToken") {
  secretHash @0 :Data $hidden;
  accessorId @1 :Text $json("AccessorID");
  expiresAt @2 :Int64 $time;
  createIndex @3 :UInt64;
  modifyIndex @4 :UInt64;
}

struct AclRole $json("ACLRole") {
  struct PolicyLink $json("ACLRolePolicyLink") { name @0 :Text; }

  id @0 :Text $json("ID");
  name @1 :Text;
  description @2 :Text;
  policies @3 :List(PolicyLink);
  hash @4 :Data;
  createIndex @5 :UInt64;
  modifyIndex @6 :UInt64;
  originIndex @7 :UInt64 $hidden;      # of a copy: its modifyIndex in the authoritative region
}

struct AclAuthMethodConfig $json("ACLAuthMethodConfig") {
  jwtValidationPubKeys @0 :List(Text) $json("JWTValidationPubKeys");
  jwksUrl @1 :Text $json("JWKSURL");
  oidcDiscoveryUrl @2 :Text $json("OIDCDiscoveryURL");
  oidcClientId @3 :Text $json("OIDCClientID");
  oidcClientSecret @4 :Text $json("OIDCClientSecret");  # of requests; never stored
  oidcScopes @5 :List(Text) $json("OIDCScopes");
  boundAudiences @6 :List(Text);
  boundIssuer @7 :List(Text);
  allowedRedirectUris @8 :List(Text) $json("AllowedRedirectURIs");
  discoveryCaPem @9 :List(Text);
  jwksCaCert @10 :Text $json("JWKSCACert");
  signingAlgs @11 :List(Text);
  expirationLeeway @12 :Int64 $durationText;
  notBeforeLeeway @13 :Int64 $durationText;
  clockSkewLeeway @14 :Int64 $durationText;
  claimMappings @15 :List(Common.TextEntry) $map;
  listClaimMappings @16 :List(Common.TextEntry) $map;
}

struct AclAuthMethod $json("ACLAuthMethod") {
  name @0 :Text;
  type @1 :Text;                       # OIDC, JWT
  tokenLocality @2 :Text;              # local, global
  maxTokenTtl @3 :Int64 $json("MaxTokenTTL") $durationText;
  default @4 :Bool;
  config @5 :AclAuthMethodConfig;
  hash @6 :Data;
  createTime @7 :Int64 $time;
  modifyTime @8 :Int64 $time;
  createIndex @9 :UInt64;
  modifyIndex @10 :UInt64;
  keyId @11 :Text $hidden;             # the root key that sealed the client secret; empty without one
  sealed @12 :Data $hidden;
  originIndex @13 :UInt64 $hidden;      # of a copy: its modifyIndex in the authoritative region
}

# Whom a sign-in becomes: what a rule binds, if its selector holds of the claims.
struct AclBindingRule $json("ACLBindingRule") {
  id @0 :Text $json("ID");
  description @1 :Text;
  authMethod @2 :Text;
  selector @3 :Text;
  bindType @4 :Text;                   # role, policy, management
  bindName @5 :Text;
  hash @6 :Data;
  createTime @7 :Int64 $time;
  modifyTime @8 :Int64 $time;
  createIndex @9 :UInt64;
  modifyIndex @10 :UInt64;
  originIndex @11 :UInt64 $hidden;      # of a copy: its modifyIndex in the authoritative region
}

# That the first management token was made, and when the last one was: the reset index.
struct AclBootstrap {
  createIndex @0 :UInt64;
  modifyIndex @1 :UInt64;
}
