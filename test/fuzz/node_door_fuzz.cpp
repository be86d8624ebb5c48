// The parcels of the door between nodes and servers: any bytes of a peer are a question or an
// answer with rows, or an error, and what was read can be packed and read again.
#include "actors/roles/node_questions.hpp"
#include "schema/alloc.capnp.h"
#include "schema/job.capnp.h"
#include "schema/node.capnp.h"
#include "schema/service.capnp.h"
#include "test/fuzz/input.hpp"

namespace {

using namespace nomad;

/// Reads each row as every kind that goes by the door.
void read_rows(const door::Rows& rows) {
  for (const auto& row : rows) {
    static_cast<void>(row.as<schema::Allocation>().has_value());
    static_cast<void>(row.as<schema::Job>().has_value());
    static_cast<void>(row.as<schema::Node>().has_value());
    static_cast<void>(row.as<schema::ServiceRegistration>().has_value());
  }
}

template <class Message>
void check_same(const Message& one, const Result<Message>& other) {
  fuzz::require(other.has_value(), "what was packed can be read");
  fuzz::require(one.object.equals(other->object) && one.rows.size() == other->rows.size(),
                "a parcel arrives as it was sent");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = fuzz::words_of({data, size});
  if (const auto ask = door::unpack_ask(bytes)) {
    static_cast<void>(door::find_question((*ask)->which()));
    static_cast<void>(ask->max_wait());
    read_rows(ask->rows);
    check_same(*ask, door::unpack_ask(door::pack(*ask)));
  }
  const auto who = access::Principal::cluster("fuzz");
  if (const auto ask = door::unpack_node_ask(bytes, who)) {
    static_cast<void>(door::find_question((*ask)->which()));
    read_rows(ask->rows);
    check_same(*ask, door::unpack_node_ask(door::pack(*ask), who));
  }
  if (const auto reply = door::unpack_node_reply(bytes)) {
    read_rows(reply->rows);
    check_same(*reply, door::unpack_node_reply(door::pack(*reply)));
  }
  if (const auto reply = door::unpack_reply(bytes)) {
    read_rows(reply->rows);
    check_same(*reply, door::unpack_reply(door::pack(*reply)));
  }
  return 0;
}
