#include "runtime/state/volumes/claims.hpp"

#include <algorithm>

#include "runtime/object/enum_name.hpp"

namespace nomad::state {
namespace {

using Access = schema::CsiAccessMode;
using Attachment = schema::CsiAttachmentMode;
using Mode = schema::CsiClaimMode;
using State = schema::CsiClaimState;

bool is_write(CsiClaimReader claim) {
  return claim.getMode() == Mode::WRITE;
}

/// Whether two claims of one mode exclude each other.
bool exclude(CsiClaimReader one, CsiClaimReader other, Access mode) {
  const bool same_node = one.getNodeId().size() == 0 || one.getNodeId() == other.getNodeId();
  if (is_single_node(mode) && !same_node) return true;
  switch (mode) {
    case Access::SINGLE_NODE_READER_ONLY:
      return true;
    case Access::SINGLE_NODE_WRITER:
    case Access::MULTI_NODE_SINGLE_WRITER:
      return is_write(one) && is_write(other);
    case Access::UNKNOWN:
    case Access::MULTI_NODE_READER_ONLY:
    case Access::MULTI_NODE_MULTI_WRITER:
      return false;
  }
  return true;
}

/// Replaces the claims, which are in the order of their allocations.
Object<schema::CsiVolume> with_claims(const Object<schema::CsiVolume>& volume,
                                      const std::vector<CsiClaimReader>& claims) {
  Draft<schema::CsiVolume> draft{volume};
  auto list = draft->initClaims(static_cast<unsigned>(claims.size()));
  for (unsigned i = 0; i < list.size(); ++i)
    list.setWithCaveats(i, claims[i]);
  draft->setAccessMode(claims.empty() ? Access::UNKNOWN : claims.front().getAccessMode());
  draft->setAttachmentMode(claims.empty() ? Attachment::UNKNOWN
                                          : claims.front().getAttachmentMode());
  return draft.freeze();
}

}  // namespace

Access access_mode_of(std::string_view word) {
  for (const auto mode :
       {Access::SINGLE_NODE_READER_ONLY, Access::SINGLE_NODE_WRITER, Access::MULTI_NODE_READER_ONLY,
        Access::MULTI_NODE_SINGLE_WRITER, Access::MULTI_NODE_MULTI_WRITER})
    if (enum_name(mode) == word) return mode;
  return Access::UNKNOWN;
}

Attachment attachment_mode_of(std::string_view word) {
  for (const auto mode : {Attachment::BLOCK_DEVICE, Attachment::FILE_SYSTEM})
    if (enum_name(mode) == word) return mode;
  return Attachment::UNKNOWN;
}

bool is_writer_mode(Access mode) {
  return mode == Access::SINGLE_NODE_WRITER || mode == Access::MULTI_NODE_SINGLE_WRITER
         || mode == Access::MULTI_NODE_MULTI_WRITER;
}

bool offers_modes(CsiVolumeReader volume, Access access, Attachment attachment) {
  for (const auto offered : volume.getRequestedCapabilities())
    if (offered.getAccessMode() == access && offered.getAttachmentMode() == attachment) return true;
  return false;
}

bool is_single_node(Access mode) {
  return mode == Access::SINGLE_NODE_READER_ONLY || mode == Access::SINGLE_NODE_WRITER;
}

ClaimAnswer judge_claim(CsiVolumeReader volume,
                        CsiClaimReader wanted,
                        const std::function<bool(CsiClaimReader)>& counts) {
  const auto mode = wanted.getAccessMode();
  if (mode == Access::UNKNOWN || !offers_modes(volume, mode, wanted.getAttachmentMode()))
    return ClaimAnswer::not_offered;
  if (is_write(wanted) && !is_writer_mode(mode)) return ClaimAnswer::not_offered;
  for (const auto claim : volume.getClaims()) {
    if (!counts(claim)) continue;
    if (claim.getAccessMode() != mode || claim.getAttachmentMode() != wanted.getAttachmentMode())
      return ClaimAnswer::other_modes;
    if (exclude(wanted, claim, mode)) return ClaimAnswer::taken;
  }
  return ClaimAnswer::free;
}

std::optional<CsiClaimReader> find_claim(CsiVolumeReader volume, std::string_view alloc_id) {
  for (const auto claim : volume.getClaims())
    if (view(claim.getAllocId()) == alloc_id) return claim;
  return std::nullopt;
}

Result<Object<schema::CsiVolume>> take_claim(const Object<schema::CsiVolume>& volume,
                                             CsiClaimReader claim) {
  if (const auto own = find_claim(*volume, view(claim.getAllocId()))) {
    const bool is_same = own->getMode() == claim.getMode()
                         && own->getAccessMode() == claim.getAccessMode()
                         && own->getAttachmentMode() == claim.getAttachmentMode();
    if (own->getState() == State::TAKEN && is_same) return volume;
    return Error{Errc::conflict, "the allocation's own claim of the volume is being given back"};
  }
  switch (judge_claim(*volume, claim, [](CsiClaimReader) { return true; })) {
    case ClaimAnswer::free:
      break;
    case ClaimAnswer::not_offered:
      return Error{Errc::rejected,
                   "volume \"" + copy(volume->getId())
                       + "\" has no capability for the access mode and attachment mode that are "
                         "asked for"};
    case ClaimAnswer::taken:
      return Error{Errc::conflict, "volume max claims reached"};
    case ClaimAnswer::other_modes:
      return Error{Errc::conflict,
                   "volume max claims reached: it is in use by another access mode "
                   "or attachment mode"};
  }
  std::vector<CsiClaimReader> claims;
  for (const auto one : volume->getClaims())
    claims.push_back(one);
  const auto position
      = std::ranges::lower_bound(claims, view(claim.getAllocId()), {},
                                 [](CsiClaimReader one) { return view(one.getAllocId()); });
  claims.insert(position, claim);
  return with_claims(volume, claims);
}

Object<schema::CsiVolume> release_claim(const Object<schema::CsiVolume>& volume,
                                        CsiClaimReader claim) {
  const auto own = find_claim(*volume, view(claim.getAllocId()));
  if (!own || own->getState() >= claim.getState()) return volume;
  Draft<schema::CsiClaim> further{*own};
  further->setState(claim.getState());
  if (claim.getExternalNodeId().size() != 0) further->setExternalNodeId(claim.getExternalNodeId());
  std::vector<CsiClaimReader> claims;
  for (const auto one : volume->getClaims()) {
    if (one.getAllocId() != own->getAllocId())
      claims.push_back(one);
    else if (claim.getState() != State::CONTROLLER_DETACHED)
      claims.push_back(further.reader());
  }
  return with_claims(volume, claims);
}

ClaimCounts count_claims(CsiVolumeReader volume) {
  ClaimCounts counts;
  for (const auto claim : volume.getClaims())
    ++(is_write(claim) ? counts.writers : counts.readers);
  return counts;
}

}  // namespace nomad::state
