#include "runtime/raft/configuration.hpp"

#include <algorithm>

namespace nomad::raft {
namespace {

constexpr std::uint32_t format_version = 1;
constexpr std::uint32_t max_count = 4096;

void put_number(std::string& out, std::uint32_t number) {
  for (int shift = 0; shift < 32; shift += 8)
    out.push_back(static_cast<char>((number >> shift) & 0xff));
}

void put_text(std::string& out, std::string_view text) {
  put_number(out, static_cast<std::uint32_t>(text.size()));
  out.append(text);
}

/// Reads forward; after the first shortage everything is empty and `ok` is false.
struct Reader {
  std::span<const std::byte> rest;
  bool ok = true;

  std::uint32_t number() {
    if (rest.size() < 4) {
      ok = false;
      return 0;
    }
    std::uint32_t value = 0;
    for (std::size_t at = 0; at < 4; ++at)
      value |= std::to_integer<std::uint32_t>(rest[at]) << (8 * at);
    rest = rest.subspan(4);
    return value;
  }

  std::string text() {
    const auto size = number();
    if (!ok || rest.size() < size) {
      ok = false;
      return {};
    }
    std::string value{reinterpret_cast<const char*>(rest.data()), size};
    rest = rest.subspan(size);
    return value;
  }

  std::uint32_t count() {
    const auto value = number();
    if (value > max_count) ok = false;
    return ok ? value : 0;
  }
};

}  // namespace

const Member* Configuration::find(const ServerId& id) const {
  const auto at = std::ranges::find(members, id, &Member::id);
  return at == members.end() ? nullptr : &*at;
}

bool Configuration::is_voter(const ServerId& id) const {
  const auto* member = find(id);
  return member != nullptr && member->voter;
}

std::size_t Configuration::voter_count() const {
  return static_cast<std::size_t>(std::ranges::count(members, true, &Member::voter));
}

Bytes encode(const Configuration& configuration) {
  std::string out;
  put_number(out, format_version);
  put_text(out, configuration.cluster_id);
  put_number(out, static_cast<std::uint32_t>(configuration.members.size()));
  for (const auto& member : configuration.members) {
    put_text(out, member.id);
    put_text(out, member.address);
    put_number(out, member.voter ? 1 : 0);
  }
  put_number(out, static_cast<std::uint32_t>(configuration.removed.size()));
  for (const auto& id : configuration.removed)
    put_text(out, id);
  return Bytes::copy(out);
}

Result<Configuration> decode_configuration(std::span<const std::byte> bytes) {
  Reader reader{bytes};
  Configuration configuration;
  const auto version = reader.number();
  if (reader.ok && version != format_version)
    return Error{Errc::corrupt,
                 "raft configuration has format " + std::to_string(version) + ", expected 1"};
  configuration.cluster_id = reader.text();
  for (auto left = reader.count(); left > 0 && reader.ok; --left) {
    Member member;
    member.id = reader.text();
    member.address = reader.text();
    member.voter = reader.number() != 0;
    configuration.members.push_back(std::move(member));
  }
  for (auto left = reader.count(); left > 0 && reader.ok; --left)
    configuration.removed.push_back(reader.text());
  if (!reader.ok || !reader.rest.empty())
    return Error{Errc::corrupt, "raft configuration is truncated or has trailing bytes"};
  return configuration;
}

}  // namespace nomad::raft
