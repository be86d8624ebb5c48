// Raft's messages: any bytes of another server are a message or an error, and a message survives
// being written and read. Entries' payloads are judged as the inbox judges them.
#include <variant>

#include "runtime/object/object.hpp"
#include "runtime/raft/wire.hpp"
#include "schema/command.capnp.h"
#include "test/fuzz/input.hpp"

namespace {

using namespace nomad;
using namespace nomad::raft;

/// What a message says, but for bodies that hold more than numbers.
void check_same(const WireMessage& one, const WireMessage& other) {
  fuzz::require(one.from_address == other.from_address && one.message.from == other.message.from
                    && one.message.to == other.message.to
                    && one.message.cluster_id == other.message.cluster_id
                    && one.message.term == other.message.term
                    && one.message.known_commands == other.message.known_commands
                    && one.message.body.index() == other.message.body.index(),
                "a message that was read can be written and read");
  if (const auto* append = std::get_if<AppendRequest>(&one.message.body))
    fuzz::require(append->entries == std::get<AppendRequest>(other.message.body).entries,
                  "entries travel as they are");
  if (const auto* chunk = std::get_if<SnapshotChunk>(&one.message.body)) {
    const auto& again = std::get<SnapshotChunk>(other.message.body);
    fuzz::require(chunk->meta == again.meta && chunk->data == again.data,
                  "chunks travel as they are");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = fuzz::words_of({data, size});
  const auto read = read_wire(bytes);
  if (!read) return 0;
  static_cast<void>(lane_of(read->message));
  if (const auto* append = std::get_if<AppendRequest>(&read->message.body))
    for (const auto& entry : append->entries)
      static_cast<void>(Object<schema::Command>::check(entry.payload.view()).has_value());
  const auto again = read_wire(write_wire(read->message, read->from_address));
  fuzz::require(again.has_value(), "what was written can be read");
  check_same(*read, *again);
  return 0;
}
