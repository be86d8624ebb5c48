// Claims: who may use a CSI volume beside whom. The rules by which the log judges a claim
// (apply_volume.cpp), and by which the scheduler looks whether one would be taken.
//
// A volume has one claim for each allocation that uses it, until nothing of that is left on its
// node and at the plugin's controller. So a claim that is being given back still counts: there are
// never two writers where one is allowed, also while a node is unreachable.
//
// May depend on: runtime/base, runtime/object. Pure.
//
// Invariants, of the claims of one volume, which test/properties/volumes checks:
//   (1) all have one access mode and one attachment mode, one that the volume offers;
//   (2) a reader mode has no writer; of a single-node mode all are of one node;
//   (3) single-node-writer and multi-node-single-writer have at most one writer,
//       single-node-reader-only at most one claim;
//   (4) the state of a claim never goes back.
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "runtime/base/result.hpp"
#include "runtime/object/draft.hpp"
#include "schema/csi.capnp.h"

namespace nomad::state {

using CsiClaimReader = schema::CsiClaim::Reader;
using CsiVolumeReader = schema::CsiVolume::Reader;

/// What jobs and volume files call them: "single-node-writer", "file-system"; unknown: nothing that
/// is known.
schema::CsiAccessMode access_mode_of(std::string_view word);
schema::CsiAttachmentMode attachment_mode_of(std::string_view word);

/// Whether volumes of that mode may be written to. Of an unknown one nobody knows: no.
bool is_writer_mode(schema::CsiAccessMode mode);

/// Whether all who use a volume of that mode have to be on one node.
bool is_single_node(schema::CsiAccessMode mode);

/// Whether one of the volume's capabilities is that.
bool offers_modes(CsiVolumeReader volume,
                  schema::CsiAccessMode access,
                  schema::CsiAttachmentMode attachment);

/// Why a claim is not to be had.
enum class ClaimAnswer : std::uint8_t {
  free,         ///< It is.
  not_offered,  ///< The volume has not these modes, or nobody may write by them: it never will be.
  taken,        ///< Others have as much of it as there is: once they have given it back, it may be.
  other_modes,  ///< Others use it by other modes: likewise.
};

/// Whether `wanted` may be taken beside the claims of `volume` for which `counts` holds. Looks at
/// modes and nodes alone; without a node of `wanted`, it is taken to be on that of the others.
ClaimAnswer judge_claim(CsiVolumeReader volume,
                        CsiClaimReader wanted,
                        const std::function<bool(CsiClaimReader)>& counts);

/// The claim of an allocation, if it has one.
std::optional<CsiClaimReader> find_claim(CsiVolumeReader volume, std::string_view alloc_id);

/// The volume with `claim` taken. What the allocation has already is taken once more. Errors:
/// `conflict`: it may be taken later ("volume max claims reached"); `rejected`: never.
Result<Object<schema::CsiVolume>> take_claim(const Object<schema::CsiVolume>& volume,
                                             CsiClaimReader claim);

/// The volume once giving the claim of `claim`'s allocation back has come as far as its state; the
/// same volume if that is nothing new. At the last one the claim is gone, and with the last claim
/// the volume's modes.
Object<schema::CsiVolume> release_claim(const Object<schema::CsiVolume>& volume,
                                        CsiClaimReader claim);

/// How many claims are there to read, and to write.
struct ClaimCounts {
  std::int64_t readers = 0;
  std::int64_t writers = 0;
};

ClaimCounts count_claims(CsiVolumeReader volume);

}  // namespace nomad::state
