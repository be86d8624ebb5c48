// Commands of the log: any bytes that `check` lets pass can be applied, one after the other, to two
// servers alike, and leave a state that can be shown, saved and restored.
#include <array>

#include <capnp/serialize.h>

#include "runtime/object/draft.hpp"
#include "test/fuzz/stored_state.hpp"

namespace {

using namespace nomad;

/// A state in which ids that an input is likely to name mean something.
void seed(state::Store& store) {
  Draft<schema::Command> node;
  auto client = node->initNodeRegister().initNode();
  client.setId("n");
  client.setNodePool("default");
  store.apply(1, node.reader());
  Draft<schema::Command> job;
  auto web = job->initJobRegister().initJob();
  web.setId("j");
  web.setNamespace("default");
  web.setType("service");
  web.initTaskGroups(1)[0].setName("g");
  store.apply(2, job.reader());
  store.publish();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::array<state::Store, 2> servers;
  for (auto& server : servers)
    seed(server);
  state::Index index = 2;
  for (std::span input{data, size}; input.size() >= 2;) {
    const auto piece = fuzz::take_piece(input);
    if (!Object<schema::Command>::check(piece.view())) continue;
    const auto command = capnp::readMessageUnchecked<schema::Command>(
        reinterpret_cast<const capnp::word*>(piece.data()));
    if (!state::check_command(command)) continue;
    ++index;
    for (auto& server : servers) {
      static_cast<void>(server.apply(index + server.index_offset(), command));
      server.publish();
    }
  }
  const auto snapshot = servers[0].snapshot();
  fuzz::require(fuzz::rows_of(snapshot) == fuzz::rows_of(servers[1].snapshot()),
                "the same commands make the same state");
  fuzz::render_all(snapshot);
  fuzz::check_restore(snapshot);
  return 0;
}
