#include "runtime/telemetry/profile_format.hpp"

#include <map>

#include <doctest/doctest.h>
#include <zlib.h>

using namespace nomad;
using namespace nomad::telemetry;
using namespace std::chrono_literals;

namespace {

std::string unzipped(const std::string& bytes) {
  z_stream stream{};
  REQUIRE(inflateInit2(&stream, 15 + 16) == Z_OK);
  std::string out(1 << 20, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  REQUIRE(inflate(&stream, Z_FINISH) == Z_STREAM_END);
  out.resize(stream.total_out);
  inflateEnd(&stream);
  return out;
}

std::uint64_t varint(const std::string& from, std::size_t& at) {
  std::uint64_t value = 0;
  for (unsigned shift = 0;; shift += 7) {
    const auto byte = static_cast<unsigned char>(from.at(at++));
    value |= std::uint64_t{byte & 0x7fU} << shift;
    if (byte < 0x80) return value;
  }
}

/// The fields of a message by their numbers; numbers as texts.
std::multimap<unsigned, std::string> fields_of(const std::string& message) {
  std::multimap<unsigned, std::string> fields;
  for (std::size_t at = 0; at < message.size();) {
    const auto tag = varint(message, at);
    const auto value = varint(message, at);
    const auto field = static_cast<unsigned>(tag >> 3);
    if ((tag & 7) == 0) {
      fields.emplace(field, std::to_string(value));
      continue;
    }
    CHECK((tag & 7) == 2);
    fields.emplace(field, message.substr(at, value));
    at += value;
  }
  return fields;
}

std::vector<std::string> all_of(const std::multimap<unsigned, std::string>& fields,
                                unsigned field) {
  std::vector<std::string> values;
  const auto [begin, end] = fields.equal_range(field);
  for (auto at = begin; at != end; ++at)
    values.push_back(at->second);
  return values;
}

}  // namespace

TEST_CASE("profile format: stacks, places and names are where pprof looks for them") {
  CpuProfile profile;
  profile.samples = {{{0x1010, 0x1020}, 3}, {{0x1020}, 300}};
  profile.mappings = {{0x1000, 0x2000, 0x500, "/usr/bin/nomadctl"}};
  profile.began = 1'700'000'000'000'000'000;
  profile.duration = 2s;
  profile.period = 10ms;

  const auto written = write_profile(profile, [](std::uint64_t address) -> std::string {
    return address == 0x1010 ? "work()" : "";
  });
  REQUIRE(written.has_value());
  const auto fields = fields_of(unzipped(*written));

  const auto strings = all_of(fields, 6);
  REQUIRE(strings.size() == 7);
  CHECK(strings[0].empty());
  const auto text = [&](const std::string& number) { return strings.at(std::stoul(number)); };
  const auto types = all_of(fields, 1);
  REQUIRE(types.size() == 2);
  CHECK(text(all_of(fields_of(types[0]), 1).at(0)) == "samples");
  CHECK(text(all_of(fields_of(types[1]), 2).at(0)) == "nanoseconds");
  const auto samples = all_of(fields, 2);
  REQUIRE(samples.size() == 2);
  CHECK(all_of(fields_of(samples[0]), 1).at(0) == "\1\2");
  std::size_t at = 0;
  const auto values = all_of(fields_of(samples[1]), 2).at(0);
  CHECK(varint(values, at) == 300);
  CHECK(varint(values, at) == 3'000'000'000);
  const auto mapping = fields_of(all_of(fields, 3).at(0));
  CHECK(all_of(mapping, 2).at(0) == std::to_string(0x1000));
  CHECK(text(all_of(mapping, 5).at(0)) == "/usr/bin/nomadctl");
  const auto locations = all_of(fields, 4);
  REQUIRE(locations.size() == 2);
  const auto known = fields_of(locations[0]);
  CHECK(all_of(known, 2).at(0) == "1");
  CHECK(all_of(known, 3).at(0) == std::to_string(0x1010));
  CHECK(all_of(known, 4).size() == 1);
  CHECK(all_of(fields_of(locations[1]), 4).empty());
  CHECK(text(all_of(fields_of(all_of(fields, 5).at(0)), 2).at(0)) == "work()");
  CHECK(all_of(fields, 9).at(0) == "1700000000000000000");
  CHECK(all_of(fields, 10).at(0) == "2000000000");
  CHECK(all_of(fields, 12).at(0) == "10000000");
}

TEST_CASE("profile format: an empty profile is one, too") {
  const auto written = write_profile({}, [](std::uint64_t) { return std::string{}; });
  REQUIRE(written.has_value());
  CHECK(all_of(fields_of(unzipped(*written)), 2).empty());
}

TEST_CASE("profile format: memory comes as what is behind its samples") {
  HeapProfile profile;
  profile.samples = {{{0x1010}, 4, 4'000'000, 1, 1'000'000}, {{0x1020}, 2, 64, 0, 0}};
  profile.at = 1'700'000'000'000'000'000;
  const auto nobody = [](std::uint64_t) { return std::string{}; };

  const auto written = write_profile(profile, HeapView::in_use, nobody);
  REQUIRE(written.has_value());
  const auto fields = fields_of(unzipped(*written));

  const auto strings = all_of(fields, 6);
  const auto text = [&](const std::string& number) { return strings.at(std::stoul(number)); };
  std::string types;
  for (const auto& type : all_of(fields, 1))
    types += text(all_of(fields_of(type), 1).at(0)) + '/' + text(all_of(fields_of(type), 2).at(0))
             + ' ';
  CHECK(types == "alloc_objects/count alloc_space/bytes inuse_objects/count inuse_space/bytes ");
  std::size_t at = 0;
  const auto large = all_of(fields_of(all_of(fields, 2).at(0)), 2).at(0);
  CHECK(varint(large, at) == 4);  // a megabyte is hardly ever missed
  CHECK(varint(large, at) > 4'000'000);
  CHECK(varint(large, at) == 1);
  at = 0;
  const auto small = all_of(fields_of(all_of(fields, 2).at(1)), 2).at(0);
  CHECK(varint(small, at) == 32'769);  // of 32 bytes one in 16,384 is a sample
  CHECK(varint(small, at) == 1'048'608);
  CHECK(all_of(fields, 12).at(0) == "524288");
  CHECK(text(all_of(fields, 14).at(0)) == "inuse_space");
  const auto allocs = fields_of(unzipped(*write_profile(profile, HeapView::allocated, nobody)));
  CHECK(all_of(allocs, 6).at(std::stoul(all_of(allocs, 14).at(0))) == "alloc_space");
}

TEST_CASE("profile format: what no sample stands for is nothing") {
  CHECK(scaled_up(0, 0) == std::pair<std::uint64_t, std::uint64_t>{0, 0});
  CHECK(scaled_up(1, std::uint64_t{1} << 40)
        == std::pair<std::uint64_t, std::uint64_t>{1, 1ULL << 40});
}
