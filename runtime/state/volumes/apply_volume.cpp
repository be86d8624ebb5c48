// CSI volumes: what is registered of them, and who uses them. Conditions are judged here and
// nowhere else, so that of two who want to write where one may, one is refused, whoever asked
// first.
#include <map>

#include "runtime/state/apply_kind.hpp"
#include "runtime/state/volumes/claims.hpp"

namespace nomad::state {

namespace {

using schema::CsiClaimState;

/// What is stored of `wanted` where `stored` is already.
void keep_stored(schema::CsiVolume::Builder wanted,
                 schema::CsiVolume::Reader stored,
                 bool keep_secrets) {
  wanted.setClaims(stored.getClaims());
  wanted.setAccessMode(stored.getAccessMode());
  wanted.setAttachmentMode(stored.getAttachmentMode());
  if (wanted.getContext().size() == 0) wanted.setContext(stored.getContext());
  if (wanted.getTopologies().size() == 0) wanted.setTopologies(stored.getTopologies());
  if (wanted.getCapacity() == 0) wanted.setCapacity(stored.getCapacity());
  if (stored.getControllerRequired()) wanted.setControllerRequired(true);
  if (!keep_secrets) return;
  wanted.setKeyId(stored.getKeyId());
  wanted.setSealed(stored.getSealed());
}

}  // namespace

void Applier::csi_register(schema::CsiVolumeRegister::Reader command) {
  const auto wanted = command.getVolume();
  const auto ns = copy(wanted.getNamespace());
  if (!t_.namespaces.contains(ns))
    return refuse(Errc::rejected,
                  "nonexistent namespace \"" + ns + "\" of volume \"" + copy(wanted.getId()) + '"');
  const auto stored = found<kind::CsiVolumes>(kind::CsiVolumes::key(wanted));
  const bool keeps = stored && command.getKeepSecrets();
  // The proposer sealed it some time ago: a key that has gone since would leave it unreadable.
  if (!keeps && wanted.getKeyId().size() != 0 && !t_.root_keys.contains(view(wanted.getKeyId())))
    return refuse(Errc::unavailable,
                  "root key \"" + copy(wanted.getKeyId()) + "\" has been removed; try again");
  Draft<schema::CsiVolume> draft{wanted};
  draft->disownSecrets();
  if (stored)
    keep_stored(*draft, *stored, command.getKeepSecrets());
  else
    draft->disownClaims();
  put_stamped<kind::CsiVolumes>(stored, draft.reader());
  outcome_.volumes_changed = true;
  outcome_.volumes_opened.push_back(ns);
}

void Applier::csi_deregister(schema::CsiVolumeDeregister::Reader command) {
  const auto id = copy(command.getId());
  const auto stored
      = found<kind::CsiVolumes>(join_key(view(command.getNamespace()), view(command.getId())));
  if (!stored) return refuse(Errc::not_found, "volume not found: " + id);
  for (const auto claim : stored->getClaims()) {
    const auto* alloc = t_.allocs.find(view(claim.getAllocId()));
    const bool is_over = alloc == nullptr || (*alloc)->client_terminal;
    if (!command.getForce() || !is_over) return refuse(Errc::conflict, "volume in use: " + id);
  }
  replace<kind::CsiVolumes>(stored, {});
  outcome_.volumes_changed = true;
}

/// Why an allocation may not take what it asks for.
std::optional<Error> Applier::check_claimant(schema::CsiClaimUpdate::Entry::Reader entry) const {
  const auto claim = entry.getClaim();
  const auto* row = t_.allocs.find(view(claim.getAllocId()));
  const auto named = "allocation \"" + copy(claim.getAllocId()) + '"';
  if (row == nullptr) return Error{Errc::not_found, named + " is not known"};
  const auto alloc = *(*row)->alloc;
  if (alloc.node_id() != view(claim.getNodeId()) || alloc.ns() != view(entry.getNamespace()))
    return Error{Errc::rejected, named + " is another node's, or of another namespace"};
  if ((*row)->client_terminal) return Error{Errc::rejected, named + " has ended"};
  return std::nullopt;
}

void Applier::csi_claim(schema::CsiClaimUpdate::Reader command) {
  struct Change {
    Object<schema::CsiVolume> before, after;
  };

  std::map<std::string, Change> changes;
  for (const auto entry : command.getEntries()) {
    const auto claim = entry.getClaim();
    const bool takes = claim.getState() == CsiClaimState::TAKEN;
    auto key = join_key(view(entry.getNamespace()), view(entry.getVolumeId()));
    const auto stored = found<kind::CsiVolumes>(key);
    if (!stored) {
      if (!takes) continue;
      return refuse(Errc::not_found, "volume not found: " + copy(entry.getVolumeId()));
    }
    auto& change = changes.try_emplace(std::move(key), Change{stored, stored}).first->second;
    if (!takes) {
      change.after = release_claim(change.after, claim);
      continue;
    }
    if (const auto error = check_claimant(entry)) return refuse(*error);
    const auto taken = take_claim(change.after, claim);
    if (!taken) return refuse(taken.error());
    change.after = *taken;
  }
  for (const auto& [key, change] : changes) {
    if (change.after.is_same(change.before)) continue;
    const bool gives = change.after->getClaims().size() < change.before->getClaims().size();
    put_stamped<kind::CsiVolumes>(change.before, *change.after);
    outcome_.volumes_changed = true;
    if (gives) outcome_.volumes_opened.push_back(copy(change.after->getNamespace()));
  }
}

}  // namespace nomad::state
