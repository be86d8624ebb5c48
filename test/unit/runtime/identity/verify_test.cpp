#include "runtime/identity/verify.hpp"

#include <boost/json.hpp>
#include <sodium.h>

#include "test/unit/runtime/identity/identity_fixture.hpp"

using namespace nomad;

namespace {

struct Verified : test::IdentityState {
  using Capability = access::Capability;

  std::int64_t time = issued;
  access::RightsCache cache;

  const identity::SigningKey& key() { return *keys(now().active_root_key()).value(); }

  identity::Claims own_claims() const {
    return {
        .ns = "default", .job_id = "web", .alloc_id = "a1", .task = "server", .issued_at = issued};
  }

  access::Lookup lookup(std::function<bool()> knows_all = {}) {
    return identity::with_identities(
        {.here = [](std::string_view) -> std::optional<Result<access::Grant>> {
          return access::Grant{.accessor = "of others"};
        }},
        {std::shared_ptr<void>{}, &store}, keys, std::move(knows_all), [this] {
          return access::Moment{time * 1'000'000'000, access::Time{}};
        });
  }

  bool is_refused(std::string_view token) {
    const auto found = lookup().here(token);
    return found && !*found && found->error() == access::permission_denied();
  }

  access::Grant grant_of(std::string_view token) { return lookup().here(token).value().value(); }

  /// Signed by our key, with a header and claims of one's own.
  std::string forge(const std::string& header, const std::string& claims) {
    auto token = access::encode_jwt_part(header) + "." + access::encode_jwt_part(claims);
    return token + "." + access::encode_jwt_part(key().sign(token));
  }
};

}  // namespace

TEST_CASE_FIXTURE(Verified, "verify: a task's identity gives what the task may") {
  const auto grant = grant_of(token_of({"a1", "server"}));

  REQUIRE(grant.workload);
  CHECK(grant.workload->alloc_id == "a1");
  CHECK(grant.workload->task == "server");
  CHECK(grant.accessor.empty());
  const auto reads = [&](std::string_view path, std::string_view ns = "default") {
    return grant.rights->allow(Capability::variables_read, {.ns = ns, .path = path});
  };
  CHECK(reads("nomad/jobs/web/api/server"));
  CHECK_FALSE(reads("nomad/jobs/web2"));
  CHECK_FALSE(reads("nomad/jobs/web", "other"));
  CHECK(grant.rights->allow(Capability::read_services, {.ns = "default"}));
  CHECK_FALSE(grant.rights->allow(Capability::read_services, {.ns = "other"}));
  for (const auto other : {Capability::submit_job, Capability::read_job, Capability::management,
                           Capability::node_read, Capability::variables_write})
    CHECK_FALSE(grant.rights->allow(other, {.ns = "default", .path = "nomad/jobs/web"}));
}

TEST_CASE_FIXTURE(Verified, "verify: what is no signed token goes its own way") {
  CHECK(grant_of("3f1c0b7e-0000-4000-8000-000000000000").accessor == "of others");
  CHECK(grant_of("").accessor == "of others");
}

TEST_CASE_FIXTURE(Verified, "verify: nobody chooses how a token is verified") {
  const auto claims = identity::claims_json(own_claims());
  const auto kid = key().id();
  const auto header = [&](const std::string& algorithm) {
    return R"({"alg":")" + algorithm + R"(","kid":")" + kid + R"("})";
  };
  CHECK_FALSE(is_refused(forge(header("EdDSA"), claims)));
  for (const auto* algorithm : {"none", "None", "HS256", "RS256", "ES256", "eddsa", ""})
    CHECK(is_refused(forge(header(algorithm), claims)));
  CHECK(is_refused(forge(R"({"alg":"EdDSA"})", claims)));

  // HMAC with what everybody knows.
  auto signed_part
      = access::encode_jwt_part(header("HS256")) + "." + access::encode_jwt_part(claims);
  std::string mac(crypto_auth_hmacsha256_BYTES, '\0');
  crypto_auth_hmacsha256(reinterpret_cast<unsigned char*>(mac.data()),
                         reinterpret_cast<const unsigned char*>(signed_part.data()),
                         signed_part.size(), key().verifying().bytes.data());
  CHECK(is_refused(signed_part + "." + access::encode_jwt_part(mac)));
  signed_part = access::encode_jwt_part(header("none")) + "." + access::encode_jwt_part(claims);
  CHECK(is_refused(signed_part + "."));
}

TEST_CASE_FIXTURE(Verified, "verify: what is changed, cut, of others or too long is none") {
  const auto token = token_of({"a1", "server"});
  for (std::size_t at = 0; at < token.size(); at += 7) {
    auto changed = token;
    changed[at] = changed[at] == 'A' ? 'B' : 'A';
    if (changed != token && token[at] != '.') CHECK(is_refused(changed));
    CHECK(is_refused(token.substr(0, token.rfind('.') + 1 + at % 80)));
  }
  CHECK(is_refused(token + "="));
  CHECK(is_refused(std::string(1 << 20, 'a') + ".b.c"));
  const auto foreign = identity::SigningKey::from_seed(key().id(), security::Secret{32});
  CHECK(is_refused(identity::sign(own_claims(), *foreign)));
  const auto unknown = identity::SigningKey::from_seed("other", security::Secret{32});
  CHECK(is_refused(identity::sign(own_claims(), *unknown)));
}

TEST_CASE_FIXTURE(Verified, "verify: times count, by clocks that may differ by a minute") {
  auto claims = own_claims();
  claims.expires_at = issued + 600;
  claims.issued_at = issued + 60;
  CHECK_FALSE(is_refused(identity::sign(claims, key())));
  claims.issued_at = issued + 61;
  CHECK(is_refused(identity::sign(claims, key())));
  claims.issued_at = issued;
  claims.expires_at = issued + 3;
  const auto token = identity::sign(claims, key());
  CHECK(grant_of(token).until == access::Time{} + std::chrono::seconds{3});
  time = issued + 3;
  CHECK(is_refused(token));
  const auto header = R"({"alg":"EdDSA","kid":")" + key().id() + R"("})";
  const std::string body
      = R"({"nomad_namespace":"default","nomad_job_id":"web","nomad_allocation_id":"a1","nomad_task":"server")";
  CHECK(is_refused(forge(header, body + "}")));
  CHECK(is_refused(forge(header, body + R"(,"iat":1,"nbf":1,"exp":"9999999999"})")));
  CHECK(is_refused(forge(header, body + R"(,"iat":1,"nbf":1,"exp":1e300})")));
  CHECK(is_refused(forge(header, body + R"(,"iat":1,"nbf":1})")));
  CHECK(is_refused(forge(header, body + R"(,"iat":1,"nbf":1,"nomad_task":"server"})")));
}

TEST_CASE_FIXTURE(Verified, "verify: what has no end is of its allocation's time, by any clock") {
  time = issued - 3'600;
  CHECK_FALSE(is_refused(token_of({"a1", "server"})));
  time = issued + 1'000'000;
  CHECK(grant_of(token_of({"a1", "server"})).until == access::Time::max());
  auto claims = own_claims();
  for (const auto other : {issued - 1, issued + 1}) {
    claims.issued_at = other;
    CHECK(is_refused(identity::sign(claims, key())));
  }
}

TEST_CASE_FIXTURE(Verified, "verify: an identity for others is none here") {
  CHECK(is_refused(token_of({"a1", "server", false, "aws"})));
  CHECK_FALSE(is_refused(token_of({"a1", "server", false, "ours"})));
  CHECK(is_refused(token_of({"a1", "front", true, ""})));
  // Also signed as ours are, which earlier releases did.
  auto claims = own_claims();
  claims.subject = "global:default:web:api:server:aws";
  claims.expires_at = issued + 600;
  for (const auto& audience : {std::vector<std::string>{}, {"sts.amazonaws.com"}}) {
    claims.audience = audience;
    CHECK(is_refused(identity::sign(claims, key())));
  }
  claims.audience = {"sts.amazonaws.com", "nomadproject.io"};
  CHECK_FALSE(is_refused(identity::sign(claims, key())));
  // Nor by our other key, whatever it says.
  const auto rsa = rsa_keys(now().active_root_key()).value();
  for (const auto& id : {rsa->id(), key().id()})
    for (const auto algorithm : {identity::rsa_algorithm, identity::ed25519_algorithm}) {
      auto part = identity::signed_part(own_claims(), algorithm, id);
      const auto signature = rsa->sign(part).value();
      CHECK(is_refused(identity::with_signature(std::move(part), signature)));
    }
}

TEST_CASE_FIXTURE(Verified, "verify: a token of 1 MB is refused before it is read") {
  auto claims = own_claims();
  claims.id = std::string(1'000'000, 'x');
  CHECK(is_refused(identity::sign(claims, key())));
  CHECK(is_refused(std::string(1'000'000, 'x') + ".x.x"));
  CHECK(is_refused("x.x." + std::string(1'000'000, 'x')));
}

TEST_CASE_FIXTURE(Verified,
                  "verify: a clock that jumped a day back takes what it has signed since") {
  constexpr std::int64_t day = 86'400;
  time = issued + day;
  const auto before = issue({"a1", "server", false, "ours"}, time).value();
  auto ahead = own_claims();
  ahead.issued_at = time;
  ahead.expires_at = time + 600;
  const auto from_before_the_jump = identity::sign(ahead, key());
  CHECK_FALSE(is_refused(from_before_the_jump));
  time = issued;
  CHECK(is_refused(from_before_the_jump));
  CHECK_FALSE(is_refused(before.token));  // It has no end, so that no clock counts.
  ahead.issued_at = time;
  ahead.expires_at = time + 600;
  CHECK_FALSE(is_refused(identity::sign(ahead, key())));
  time = issued + day;
  CHECK_FALSE(is_refused(from_before_the_jump));
}

TEST_CASE_FIXTURE(Verified, "verify: it is of exactly this allocation, job and task") {
  const auto with = [this](auto change) {
    auto claims = own_claims();
    change(claims);
    return identity::sign(claims, key());
  };
  CHECK_FALSE(is_refused(with([](auto&) {})));
  CHECK(is_refused(with([](auto& claims) { claims.ns = "other"; })));
  CHECK(is_refused(with([](auto& claims) { claims.job_id = "we"; })));
  CHECK(is_refused(with([](auto& claims) { claims.task = "other"; })));
  CHECK(is_refused(with([](auto& claims) { claims.task = ""; })));
  CHECK(is_refused(with([](auto& claims) { claims.alloc_id = "a2"; })));
  CHECK(is_refused(with([](auto& claims) { claims.alloc_id = ""; })));
}

TEST_CASE_FIXTURE(Verified,
                  "verify: what is known of it ends with the allocation, not with other writes") {
  const auto token = token_of({"a1", "server"});
  const auto grant = grant_of(token);
  register_job({.id = "other"});
  place({{.id = "b", .job = "other"}});
  CHECK(grant.holds());
  CHECK(grant_of(token).index == grant.index);

  report("a1", schema::ClientStatus::FAILED);
  CHECK_FALSE(grant.holds());
  CHECK(is_refused(token));
  run([](auto command) { command.initReap().initAllocationIds(1).set(0, "a1"); });
  CHECK_FALSE(grant.holds());
  CHECK(is_refused(token));
}

TEST_CASE_FIXTURE(Verified, "verify: what is known of it ends with the key that signed it") {
  const auto token = token_of({"a1", "server"});
  const auto grant = grant_of(token);
  add_key("22222222-2222-4333-8444-555555555555");
  CHECK(grant.holds());
  run([](auto command) { command.setRootKeyForcedDelete("11111111-2222-4333-8444-555555555555"); });
  CHECK_FALSE(grant.holds());
  CHECK(is_refused(token));
}

TEST_CASE_FIXTURE(Verified, "verify: the leader is asked for what has not come here yet") {
  bool knows_all = false;
  const auto here = lookup([&] { return knows_all; }).here;
  auto claims = own_claims();
  claims.alloc_id = "a9";
  const auto later = identity::sign(claims, key());
  CHECK_FALSE(here(later).has_value());
  CHECK(here(forge(R"({"alg":"EdDSA","kid":")" + key().id() + R"("})", "{}")).has_value());
  knows_all = true;
  CHECK(here(later).value().error() == access::permission_denied());
}

TEST_CASE_FIXTURE(Verified, "verify: a leader that lacks the key does not refuse for good") {
  const auto token = token_of({"a1", "server"});
  bool knows_all = false;
  keys = identity::signing_keys(security::Keyring::open({.server_id = "two"}).value());
  const auto here = lookup([&] { return knows_all; }).here;
  CHECK_FALSE(here(token).has_value());
  knows_all = true;
  CHECK(here(token).value().error().code == Errc::unavailable);
}

TEST_CASE_FIXTURE(Verified, "verify: a rotation leaves identities as they are") {
  const auto token = token_of({"a1", "server"});
  add_key("99999999-2222-4333-8444-555555555555");

  CHECK_FALSE(is_refused(token));
}

TEST_CASE_FIXTURE(Verified, "verify: what is not here is told from what is wrong") {
  const auto token = token_of({"a1", "server"});
  const auto verify_by = [&](const identity::KeyOf& by, std::string_view shown) {
    return identity::verify(now(), by, shown, time);
  };
  const auto other = identity::SigningKey::from_seed("other", security::Secret{32});
  CHECK(verify_by(keys, identity::sign(own_claims(), *other)).error().what
        == "the token's key is not known");
  const auto elsewhere = security::Keyring::open({.server_id = "two"}).value();
  CHECK(verify_by(identity::signing_keys(elsewhere), token).error().what
        == "the token's key cannot be opened");
  auto claims = verify_by(keys, token).value();
  CHECK(claims == own_claims());
  claims.alloc_id = "a9";
  CHECK(identity::rights_of_claims(now(), claims, cache, {}).error().what
        == "the token's allocation is not known");
}
