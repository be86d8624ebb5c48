// Tables of members as bytes: their limits, and what is not one.
#include "runtime/cluster/members/member_codec.hpp"

#include <doctest/doctest.h>

#include "runtime/object/draft.hpp"

using namespace nomad;
using namespace nomad::cluster;

namespace {

Result<MemberTable> carried(const MemberTable& table) {
  return read_table(*write_table(table, nullptr, {}), nullptr);
}

/// A table of so many rows.
MemberTable of_size(std::size_t members, std::size_t removed) {
  MemberTable table;
  table.members.resize(members);
  table.removed.resize(removed);
  return table;
}

}  // namespace

TEST_CASE("member tables: every row of both lists arrives, in its order") {
  auto table = of_size(2, 2);
  table.members[0].id = "a";
  table.members[1].id = "b";
  table.removed = {"c", "d"};
  const auto read = carried(table);
  REQUIRE(read);
  REQUIRE(read->members.size() == 2);
  CHECK(read->members[0].id == "a");
  CHECK(read->members[1].id == "b");
  CHECK(read->removed == std::vector<std::string>{"c", "d"});
}

TEST_CASE("member tables: as many rows as are allowed, in each list") {
  CHECK(carried(of_size(1'024, 4'096)));
  const Error too_many{Errc::too_large, "the table of members has too many rows"};
  CHECK(carried(of_size(1'025, 0)).error() == too_many);
  CHECK(carried(of_size(0, 4'097)).error() == too_many);
}

TEST_CASE("member tables: texts, numbers and states that no member has are refused") {
  const auto with = [](const auto& edit) {
    Draft<schema::membership::Envelope> envelope;
    edit(envelope->initPlain().initMembers(1)[0]);
    return read_table(*envelope.freeze(), nullptr).error();
  };
  CHECK(with([](auto member) { member.setName(text(std::string(513, 'n'))); })
        == Error{Errc::too_large, "a text of a member is longer than 512 bytes"});
  CHECK(with([](auto member) { member.setIncarnation(most_incarnation + 1); })
        == Error{Errc::corrupt, "the incarnation of a member is beyond what any reaches"});
  CHECK(with([](auto member) { member.setStatus(200); })
        == Error{Errc::corrupt, "a member has an unknown status"});
}

TEST_CASE("member tables: a server with a key and one without do not speak with each other") {
  const auto key = MemberKey::from_text("MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=").value();
  const MemberTable table{.from = "a", .members = {}, .removed = {}};
  const std::vector<const MemberKey*> none;
  const std::vector<const MemberKey*> one{key.get()};

  CHECK(read_table(*write_table(table, nullptr, {}), one).error()
        == Error{Errc::permission_denied, "the other server has no \"encrypt\" key"});
  CHECK(read_table(*write_table(table, key.get(), {}), none).error()
        == Error{Errc::permission_denied,
                 "the other server has an \"encrypt\" key, this one has none"});
}

TEST_CASE("member tables: the highest status that is known is known") {
  auto table = of_size(1, 0);
  table.members[0].status = MemberStatus::left;
  const auto read = carried(table);
  REQUIRE(read);
  CHECK(read->members[0].status == MemberStatus::left);
}

TEST_CASE("member tables: one that is shorter than its seal is cut") {
  const auto key = MemberKey::from_text("MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=");
  REQUIRE(key);
  constexpr unsigned seal = 24 + 16;
  const auto sealed_of = [](unsigned size) {
    Draft<schema::membership::Envelope> envelope;
    envelope->initSealed(size);
    return envelope.freeze();
  };
  CHECK(read_table(*sealed_of(seal - 1), key->get()).error()
        == Error{Errc::corrupt, "a sealed table of members is cut"});
  CHECK(read_table(*sealed_of(seal), key->get()).error().code == Errc::permission_denied);
}

TEST_CASE("member tables: what is sealed for one use opens as nothing else") {
  const auto key = MemberKey::from_text("MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=").value();
  const auto other = MemberKey::from_text("MTEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=").value();
  const auto table = write_table({.from = "a", .members = {}, .removed = {}}, key.get(), {});
  Draft<schema::membership::Sealed> of_table;
  of_table->setBytes(table->getSealed());
  Draft<schema::membership::Table> draft;
  const auto plain = draft.freeze();
  const auto bytes = std::as_bytes(std::span{plain.bytes().data(), plain.bytes().size()});
  const std::vector<const MemberKey*> keys{other.get(), key.get()};

  for (const auto& [use, another] :
       {std::pair{SealedFor::keyring_order, SealedFor::keyring_report},
        std::pair{SealedFor::keyring_report, SealedFor::keyring_order}}) {
    const auto sealed = seal_bytes(bytes, *key, use, {});
    CHECK(open_bytes(*sealed, use, keys).value()
          == std::vector<std::byte>(bytes.begin(), bytes.end()));
    CHECK(open_bytes(*sealed, another, keys).error().code == Errc::permission_denied);
    CHECK(open_bytes(*sealed, use, {other.get()}).error().code == Errc::permission_denied);
    CHECK(open_bytes(*of_table.freeze(), use, keys).error().code == Errc::permission_denied);
    Draft<schema::membership::Envelope> envelope;
    envelope->setSealed(sealed->getBytes());
    CHECK(read_table(*envelope.freeze(), keys).error().code == Errc::permission_denied);
  }
}
