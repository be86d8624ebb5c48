// Membership: any envelope from another server, sealed or plain, gives a table or an error; a table
// survives being written and read; and whatever tables come, of our region or another, the rows
// stay bounded and this server stays in its own.
#include <memory>

#include "runtime/cluster/members/member_codec.hpp"
#include "test/fuzz/input.hpp"

namespace {

using namespace nomad::cluster;
using Envelope = nomad::schema::membership::Envelope;
using namespace std::chrono_literals;

constexpr std::size_t most_rows = 8;

/// The same table, by the way of the wire.
void check_round_trip(const MemberTable& table, const MemberKey* key) {
  const auto envelope = write_table(table, key, SealNonce{});
  const auto again = read_table(*envelope, key);
  fuzz::require(again && again->from == table.from && again->members == table.members
                    && again->removed == table.removed,
                "a table that was read can be written and read");
}

class Server {
public:
  void hear(const MemberTable& table, bool of_our_region) {
    now_ += 1s;
    rows_.merge(table, of_our_region ? "global" : "east", now_);
    if (const auto probed = rows_.next_probe(now_)) {
      static_cast<void>(rows_.helpers(probed->id));
      rows_.probed(probed->id, table.members.size() % 2 == 0, now_);
    }
    rows_.expire(now_);
    const auto members = rows_.members();
    fuzz::require(members.size() <= 2 * most_rows, "rows are bounded");
    fuzz::require(rows_.self().id == "self" && rows_.self().region == "global"
                      && rows_.self().status == MemberStatus::alive
                      && rows_.self().incarnation <= most_incarnation,
                  "what others say leaves a server what it is");
    static_cast<void>(founders(members, "self"));
    check_round_trip(rows_.table(), nullptr);
  }

private:
  Membership::Time now_{0};
  Membership rows_{{.id = "self", .name = "a.global", .region = "global", .expect = 3},
                   {.most_rows = most_rows},
                   nomad::Random{1},
                   now_};
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto key = MemberKey::from_text("MDEyMzQ1Njc4OWFiY2RlZg==").value();
  if (size == 0) return 0;
  Server server;
  const bool of_our_region = (data[0] & 1) != 0;
  for (std::span input{data + 1, size - 1}; input.size() >= 2;) {
    const auto piece = fuzz::take_piece(input);
    const auto envelope = nomad::Object<Envelope>::from_bytes(piece.view());
    if (!envelope) continue;
    static_cast<void>(read_table(**envelope, key.get()).has_value());
    const auto table = read_table(**envelope, nullptr);
    if (!table) continue;
    check_round_trip(*table, key.get());
    server.hear(*table, of_our_region);
  }
  return 0;
}
