#include "runtime/telemetry/profile_format.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

#include <zlib.h>

namespace nomad::telemetry {
namespace {

/// Writes fields of protobuf's wire format.
class Fields {
public:
  void number(unsigned field, std::uint64_t value) {
    if (value == 0) return;
    varint(field << 3);
    varint(value);
  }

  void bytes(unsigned field, std::string_view value) {
    varint(field << 3 | 2);
    varint(value.size());
    out_ += value;
  }

  void message(unsigned field, const Fields& value) { bytes(field, value.out_); }

  void packed(unsigned field, const std::vector<std::uint64_t>& values) {
    Fields list;
    for (const auto value : values)
      list.varint(value);
    message(field, list);
  }

  const std::string& text() const { return out_; }

private:
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7)
      out_ += static_cast<char>(value | 0x80);
    out_ += static_cast<char>(value);
  }

  std::string out_;
};

/// Numbers things from 1 in the order in which they come.
template <class Key>
class Numbers {
public:
  /// Its number, and whether it is new.
  std::pair<std::uint64_t, bool> of(const Key& key) {
    const auto [at, is_new] = numbers_.try_emplace(key, numbers_.size() + 1);
    return {at->second, is_new};
  }

private:
  std::map<Key, std::uint64_t> numbers_;
};

// Field numbers of profile.proto.
enum : unsigned {
  profile_sample_type = 1,
  profile_sample = 2,
  profile_mapping = 3,
  profile_location = 4,
  profile_function = 5,
  profile_string = 6,
  profile_time = 9,
  profile_duration = 10,
  profile_period_type = 11,
  profile_period = 12,
  profile_default_type = 14,
};

/// What a number of a profile says: "inuse_space", "bytes".
struct ProfileValue {
  std::string type;
  std::string unit;
};

class ProfileWriter {
public:
  ProfileWriter(const std::vector<ProfileMapping>& mappings,
                const std::function<std::string(std::uint64_t)>& name_of)
      : mappings_{mappings}, name_of_{name_of} {
    out_.bytes(profile_string, "");  // number 0 is the empty text
  }

  void add_value(const ProfileValue& value) {
    out_.message(profile_sample_type, value_type(value));
  }

  /// `values` as they were added.
  void add_sample(const std::vector<std::uint64_t>& stack,
                  const std::vector<std::uint64_t>& values) {
    std::vector<std::uint64_t> locations;
    for (const auto address : stack)
      locations.push_back(location(address));
    Fields fields;
    fields.packed(1, locations);
    fields.packed(2, values);
    out_.message(profile_sample, fields);
  }

  void add_period(const ProfileValue& value, std::uint64_t period) {
    out_.message(profile_period_type, value_type(value));
    out_.number(profile_period, period);
  }

  void add_times(std::int64_t began, Nanoseconds duration) {
    out_.number(profile_time, static_cast<std::uint64_t>(began));
    out_.number(profile_duration, static_cast<std::uint64_t>(duration.count()));
  }

  void show_first(const std::string& type) { out_.number(profile_default_type, string(type)); }

  /// After everything else.
  std::string take() {
    for (std::size_t i = 0; i < mappings_.size(); ++i)
      write_mapping(i + 1, mappings_[i]);
    return out_.text();
  }

private:
  std::uint64_t string(const std::string& text) {
    if (text.empty()) return 0;
    const auto [number, is_new] = strings_.of(text);
    if (is_new) out_.bytes(profile_string, text);
    return number;
  }

  Fields value_type(const ProfileValue& value) {
    Fields fields;
    fields.number(1, string(value.type));
    fields.number(2, string(value.unit));
    return fields;
  }

  std::uint64_t location(std::uint64_t address) {
    const auto [number, is_new] = locations_.of(address);
    if (!is_new) return number;
    Fields fields;
    fields.number(1, number);
    for (std::size_t i = 0; i < mappings_.size(); ++i)
      if (address >= mappings_[i].start && address < mappings_[i].limit) fields.number(2, i + 1);
    fields.number(3, address);
    if (const auto name = name_of_(address); !name.empty()) {
      Fields line;
      line.number(1, function(name));
      fields.message(4, line);
    }
    out_.message(profile_location, fields);
    return number;
  }

  std::uint64_t function(const std::string& name) {
    const auto [number, is_new] = functions_.of(name);
    if (!is_new) return number;
    Fields fields;
    fields.number(1, number);
    fields.number(2, string(name));
    fields.number(3, string(name));
    out_.message(profile_function, fields);
    return number;
  }

  void write_mapping(std::uint64_t number, const ProfileMapping& mapping) {
    Fields fields;
    fields.number(1, number);
    fields.number(2, mapping.start);
    fields.number(3, mapping.limit);
    fields.number(4, mapping.offset);
    fields.number(5, string(mapping.file));
    fields.number(7, 1);  // it has functions
    out_.message(profile_mapping, fields);
  }

  const std::vector<ProfileMapping>& mappings_;
  const std::function<std::string(std::uint64_t)>& name_of_;
  Fields out_{};
  Numbers<std::string> strings_{};
  Numbers<std::uint64_t> locations_{};
  Numbers<std::string> functions_{};
};

Result<std::string> gzipped(const std::string& plain) {
  const Error no_memory{Errc::overloaded, "no memory to compress a profile"};
  z_stream stream{};
  constexpr int gzip_window = 15 + 16;
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, gzip_window, 8, Z_DEFAULT_STRATEGY)
      != Z_OK)
    return no_memory;
  std::string out(deflateBound(&stream, plain.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(plain.data()));
  stream.avail_in = static_cast<uInt>(plain.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const bool is_whole = deflate(&stream, Z_FINISH) == Z_STREAM_END;
  out.resize(stream.total_out);
  deflateEnd(&stream);
  if (!is_whole) return no_memory;
  return out;
}

}  // namespace

Result<std::string> write_profile(const CpuProfile& profile,
                                  const std::function<std::string(std::uint64_t)>& name_of) {
  ProfileWriter writer{profile.mappings, name_of};
  writer.add_value({"samples", "count"});
  writer.add_value({"cpu", "nanoseconds"});
  const auto period = static_cast<std::uint64_t>(profile.period.count());
  for (const auto& sample : profile.samples)
    writer.add_sample(sample.stack, {sample.count, sample.count * period});
  writer.add_times(profile.began, profile.duration);
  writer.add_period({"cpu", "nanoseconds"}, period);
  return gzipped(writer.take());
}

std::pair<std::uint64_t, std::uint64_t> scaled_up(std::uint64_t count, std::uint64_t bytes) {
  if (count == 0 || bytes == 0) return {0, 0};
  const auto mean = static_cast<double>(bytes) / static_cast<double>(count);
  const auto chance = 1 - std::exp(-mean / static_cast<double>(heap_sample_bytes));
  return {static_cast<std::uint64_t>(static_cast<double>(count) / chance),
          static_cast<std::uint64_t>(static_cast<double>(bytes) / chance)};
}

Result<std::string> write_profile(const HeapProfile& profile,
                                  HeapView view,
                                  const std::function<std::string(std::uint64_t)>& name_of) {
  ProfileWriter writer{profile.mappings, name_of};
  for (const auto* kind : {"alloc", "inuse"}) {
    writer.add_value({std::string{kind} + "_objects", "count"});
    writer.add_value({std::string{kind} + "_space", "bytes"});
  }
  for (const auto& sample : profile.samples) {
    const auto [allocs, alloc_bytes] = scaled_up(sample.allocs, sample.alloc_bytes);
    const auto [live, live_bytes] = scaled_up(sample.live, sample.live_bytes);
    writer.add_sample(sample.stack, {allocs, alloc_bytes, live, live_bytes});
  }
  writer.add_times(profile.at, {});
  writer.add_period({"space", "bytes"}, heap_sample_bytes);
  writer.show_first(view == HeapView::in_use ? "inuse_space" : "alloc_space");
  return gzipped(writer.take());
}

}  // namespace nomad::telemetry
