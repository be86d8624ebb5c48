#include "runtime/identity/issue.hpp"

#include <map>
#include <mutex>
#include <optional>

#include <fmt/format.h>
#include <sodium.h>

namespace nomad::identity {
namespace {

constexpr std::int64_t ns_per_second = 1'000'000'000;

Error missing(const char* what) {
  return {Errc::not_found, what};
}

std::optional<schema::TaskGroup::Reader> group_of(schema::Job::Reader job, std::string_view name) {
  for (const auto group : job.getTaskGroups())
    if (view(group.getName()) == name) return group;
  return {};
}

bool is_default(std::string_view name) {
  return name.empty() || name == default_name;
}

/// What the job says of one identity; one of nothing for a task's default one.
using Block = std::optional<schema::Identity::Reader>;

Result<Block> block_of_task(schema::TaskGroup::Reader group, const IdentityRef& wanted) {
  for (const auto task : group.getTasks()) {
    if (view(task.getName()) != wanted.workload) continue;
    if (is_default(wanted.name)) return Block{};
    for (const auto each : task.getIdentities())
      if (view(each.getName()) == wanted.name) return Block{each};
    return missing("identity not found");
  }
  return missing("task not found");
}

Result<Block> block_in(capnp::List<schema::Service>::Reader services, const IdentityRef& wanted) {
  for (const auto service : services) {
    if (view(service.getName()) != wanted.workload) continue;
    if (!service.hasIdentity()) return missing("identity not found");
    const auto name = view(service.getIdentity().getName());
    if (name == wanted.name || (is_default(name) && is_default(wanted.name)))
      return Block{service.getIdentity()};
  }
  return missing("service not found");
}

Result<Block> block_of_service(schema::TaskGroup::Reader group, const IdentityRef& wanted) {
  auto found = block_in(group.getServices(), wanted);
  for (const auto task : group.getTasks())
    if (!found) found = block_in(task.getServices(), wanted);
  return found;
}

/// The same for the same identity of the same second, so that the token is.
std::string id_of(const Claims& claims) {
  const auto text = fmt::format("{}\n{}\n{}", claims.alloc_id, claims.subject, claims.issued_at);
  std::array<unsigned char, 16> hash{};
  crypto_generichash(hash.data(), hash.size(), reinterpret_cast<const unsigned char*>(text.data()),
                     text.size(), nullptr, 0);
  std::string id;
  for (const auto byte : hash)
    id += fmt::format("{:02x}", byte);
  return id;
}

void add_named(Claims& claims,
               schema::Identity::Reader block,
               schema::Job::Reader job,
               std::string_view group,
               const IdentityRef& wanted) {
  const auto name = view(block.getName());
  claims.subject = fmt::format("{}:{}:{}:{}:{}:{}", view(job.getRegion()), claims.ns, claims.job_id,
                               group, wanted.workload, name.empty() ? default_name : name);
  for (const auto audience : block.getAudience())
    claims.audience.push_back(copy(audience));
  if (block.getTtl() > 0)
    claims.expires_at = claims.issued_at + block.getTtl() / ns_per_second
                        + (block.getTtl() % ns_per_second != 0 ? 1 : 0);
  claims.id = id_of(claims);
}

/// The active key signs for whoever's own key is gone or will never be opened here. For one that
/// may be later it does not: nobody would know that its signature is still needed.
template <class KeyOfRow>
auto key_for(const Object<schema::RootKey>& own,
             const Object<schema::RootKey>& active,
             const KeyOfRow& keys) {
  if (!own) return keys(active);
  auto key = keys(own);
  return !key && key.error().code == Errc::corrupt ? keys(active) : key;
}

/// Signs by RS256. The same bytes have the same signature: one that is kept is not made anew.
Result<> sign_for_others(Issued& to,
                         const Claims& claims,
                         const RsaKey& key,
                         SignatureCache* signatures) {
  auto part = signed_part(claims, rsa_algorithm, key.id());
  if (claims.expires_at != 0) signatures = nullptr;  // The next one is another.
  const auto* kept = signatures != nullptr ? signatures->find(part) : nullptr;
  std::string made;
  if (kept == nullptr) {
    made = NOMAD_TRY(key.sign(part));
    if (signatures != nullptr) signatures->keep(part, made);
  }
  to.token = with_signature(std::move(part), kept != nullptr ? *kept : made);
  return {};
}

}  // namespace

KeyOf signing_keys(std::shared_ptr<security::Keyring> keyring) {
  struct Kept {
    std::mutex guard;
    std::map<std::string, std::shared_ptr<const SigningKey>, std::less<>> keys;
  };

  return [keyring = std::move(keyring), kept = std::make_shared<Kept>()](
             const Object<schema::RootKey>& row) -> Result<std::shared_ptr<const SigningKey>> {
    if (!row) return Error{Errc::unavailable, "there is no root key yet; try again"};
    const auto id = view(row->getKeyId());
    {
      const std::lock_guard lock{kept->guard};
      if (const auto found = kept->keys.find(id); found != kept->keys.end()) return found->second;
    }
    if (!keyring) return Error{Errc::unavailable, "this server has no keyring"};
    const auto seed = NOMAD_TRY(keyring->derive(row, signing_purpose));
    auto key = std::make_shared<const SigningKey>(
        NOMAD_TRY(SigningKey::from_seed(std::string{id}, seed)));
    const std::lock_guard lock{kept->guard};
    return kept->keys.emplace(std::string{id}, std::move(key)).first->second;
  };
}

std::string_view identity_job_id(schema::Job::Reader job) {
  return view(job.getParentId().size() > 0 ? job.getParentId() : job.getId());
}

Object<schema::RootKey> key_created_at(const state::Snapshot& state, std::uint64_t create_index) {
  for (const auto& entry : state.rows<state::kind::RootKeys>().all())
    if (entry.value()->getCreateIndex() == create_index) return entry.value();
  return {};
}

Result<Issued> issue(const state::Snapshot& state,
                     const IssuingKeys& keys,
                     std::string_view node_id,
                     const IdentityRef& wanted,
                     std::string_view issuer,
                     std::int64_t now,
                     SignatureCache* signatures) {
  const auto row = wanted.alloc_id.empty() ? state::AllocRef{} : state.alloc(wanted.alloc_id);
  if (!row || row->client_terminal || row->alloc->node_id() != node_id)
    return missing("allocation not found");
  const auto& alloc = row->alloc;
  const auto job = *row->job;
  const auto group = group_of(job, alloc->task_group());
  if (!group) return missing("task not found");
  const auto block = NOMAD_TRY(wanted.is_service ? block_of_service(*group, wanted)
                                                 : block_of_task(*group, wanted));
  const bool ends = block && block->getTtl() > 0;
  const auto own_row
      = ends ? Object<schema::RootKey>{} : key_created_at(state, alloc->identity_key());
  Claims claims{.ns = std::string{alloc->ns()},
                .job_id = std::string{identity_job_id(job)},
                .alloc_id = wanted.alloc_id};
  (wanted.is_service ? claims.service : claims.task) = wanted.workload;
  const auto since
      = alloc->identity_time() != 0 ? alloc->identity_time() : alloc->create_time() / ns_per_second;
  claims.issued_at = ends ? now : since;
  if (block) {
    add_named(claims, *block, job, alloc->task_group(), wanted);
    claims.issuer = issuer;
  }
  Issued issued{.issued_at = claims.issued_at, .expires_at = claims.expires_at};
  const auto active = state.active_root_key();
  if (is_for_nomad(claims)) {
    issued.token = sign(claims, *NOMAD_TRY(key_for(own_row, active, keys.own)));
    return issued;
  }
  const auto key = NOMAD_TRY(key_for(own_row, active, keys.for_others));
  NOMAD_TRY(sign_for_others(issued, claims, *key, signatures));
  return issued;
}

}  // namespace nomad::identity
