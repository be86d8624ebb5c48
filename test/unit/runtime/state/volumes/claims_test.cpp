// Who may use a volume beside whom. test/properties/volumes has random lives of them.
#include "runtime/state/volumes/claims.hpp"

#include "volume_fixture.hpp"

using namespace nomad;
using namespace nomad::state;
using test::claim_of;
using Access = schema::CsiAccessMode;
using Mode = schema::CsiClaimMode;
using State = schema::CsiClaimState;

namespace {

/// "" if the second of two claims is taken beside the first; otherwise why not.
std::string beside(Access access, Mode first, Mode second, bool same_node) {
  const auto volume = test::volume_of({.access = access});
  const auto one = take_claim(volume, *claim_of({.alloc = "a", .mode = first, .access = access}));
  if (!one) return "first: " + std::string{to_string(one.error().code)};
  const auto two = take_claim(
      *one,
      *claim_of(
          {.alloc = "b", .node = same_node ? "node" : "other", .mode = second, .access = access}));
  return two ? "" : std::string{to_string(two.error().code)};
}

}  // namespace

TEST_CASE("claims: writers and readers beside each other, by access mode") {
  const auto write = Mode::WRITE;
  const auto read = Mode::READ;
  CHECK(beside(Access::SINGLE_NODE_WRITER, write, write, true) == "conflict");
  CHECK(beside(Access::SINGLE_NODE_WRITER, write, read, true).empty());
  CHECK(beside(Access::SINGLE_NODE_WRITER, write, read, false) == "conflict");
  CHECK(beside(Access::SINGLE_NODE_WRITER, read, read, true).empty());
  CHECK(beside(Access::SINGLE_NODE_WRITER, read, write, false) == "conflict");
  CHECK(beside(Access::SINGLE_NODE_READER_ONLY, read, read, true) == "conflict");
  CHECK(beside(Access::SINGLE_NODE_READER_ONLY, write, read, true) == "first: rejected");
  CHECK(beside(Access::MULTI_NODE_READER_ONLY, read, read, false).empty());
  CHECK(beside(Access::MULTI_NODE_READER_ONLY, read, write, false) == "rejected");
  CHECK(beside(Access::MULTI_NODE_SINGLE_WRITER, write, read, false).empty());
  CHECK(beside(Access::MULTI_NODE_SINGLE_WRITER, write, write, false) == "conflict");
  CHECK(beside(Access::MULTI_NODE_MULTI_WRITER, write, write, false).empty());
}

TEST_CASE("claims: a mode that the volume does not offer is never given") {
  const auto volume = test::volume_of({});
  const auto other = claim_of({.access = Access::MULTI_NODE_MULTI_WRITER});
  CHECK(take_claim(volume, *other).error().what
        == "volume \"data\" has no capability for the access mode and attachment mode that are "
           "asked for");
  Draft<schema::CsiVolume> two{volume};
  auto offered = two->initRequestedCapabilities(2);
  offered.setWithCaveats(0, volume->getRequestedCapabilities()[0]);
  offered.setWithCaveats(1, volume->getRequestedCapabilities()[0]);
  offered[1].setAccessMode(Access::MULTI_NODE_MULTI_WRITER);
  const auto taken = take_claim(two.freeze(), *claim_of({}));
  REQUIRE(taken.has_value());
  CHECK(take_claim(*taken, *claim_of({.alloc = "b", .access = Access::MULTI_NODE_MULTI_WRITER}))
            .error()
            .what
        == "volume max claims reached: it is in use by another access mode or attachment mode");
}

TEST_CASE("claims: what an allocation has it may take once more, until it gives it back") {
  const auto claim = claim_of({});
  const auto taken = take_claim(test::volume_of({}), *claim);
  REQUIRE(taken.has_value());
  CHECK((*taken)->getAccessMode() == Access::SINGLE_NODE_WRITER);
  CHECK(take_claim(*taken, *claim)->is_same(*taken));
  CHECK(take_claim(*taken, *claim_of({.mode = Mode::READ})).error().code == Errc::conflict);

  const auto given
      = release_claim(*taken, *claim_of({.state = schema::CsiClaimState::UNPUBLISHING}));
  CHECK(take_claim(given, *claim).error().what
        == "the allocation's own claim of the volume is being given back");
}

TEST_CASE("claims: giving back goes forward alone, and with the last claim go the modes") {
  const auto taken = take_claim(test::volume_of({}), *claim_of({}));
  REQUIRE(taken.has_value());
  const auto detached = release_claim(*taken, *claim_of({.state = State::NODE_DETACHED}));
  CHECK(find_claim(*detached, "alloc")->getState() == State::NODE_DETACHED);
  CHECK(count_claims(*detached).writers == 1);
  CHECK(release_claim(detached, *claim_of({.state = State::UNPUBLISHING})).is_same(detached));
  CHECK(release_claim(detached, *claim_of({.alloc = "b", .state = State::CONTROLLER_DETACHED}))
            .is_same(detached));

  const auto gone = release_claim(detached, *claim_of({.state = State::CONTROLLER_DETACHED}));
  CHECK(gone->getClaims().size() == 0);
  CHECK(gone->getAccessMode() == Access::UNKNOWN);
}

TEST_CASE("claims: words are modes") {
  CHECK(access_mode_of("multi-node-single-writer") == Access::MULTI_NODE_SINGLE_WRITER);
  CHECK(access_mode_of("") == Access::UNKNOWN);
  CHECK(attachment_mode_of("block-device") == schema::CsiAttachmentMode::BLOCK_DEVICE);
  CHECK(attachment_mode_of("disk") == schema::CsiAttachmentMode::UNKNOWN);
}
