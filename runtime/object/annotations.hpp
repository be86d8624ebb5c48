// The annotations of schema/annotations.capnp, as code that walks a schema reads them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <capnp/schema.h>

namespace nomad::object {

/// Named as there.
enum class Annotation : std::uint64_t {
  json = 0xb1d2c3e4f5a60001,
  map = 0xb1d2c3e4f5a60002,
  time = 0xb1d2c3e4f5a60003,
  raw = 0xb1d2c3e4f5a60004,
  secret = 0xb1d2c3e4f5a60005,
  hidden = 0xb1d2c3e4f5a60006,
  omit_empty = 0xb1d2c3e4f5a60007,
  omit_zero = 0xb1d2c3e4f5a60008,
  always = 0xb1d2c3e4f5a60009,
  duration = 0xb1d2c3e4f5a6000a,
  hcl = 0xb1d2c3e4f5a6000b,
  label = 0xb1d2c3e4f5a6000c,
  nullable = 0xb1d2c3e4f5a6000d,
  fallback = 0xb1d2c3e4f5a6000e,  ///< $default, which is a word of C++
  int64 = 0xb1d2c3e4f5a6000f,
  by_value = 0xb1d2c3e4f5a60010,
  omit_null = 0xb1d2c3e4f5a60011,
  server_only = 0xb1d2c3e4f5a60012,
  request_only = 0xb1d2c3e4f5a60013,
  bookkeeping = 0xb1d2c3e4f5a60014,
  update = 0xb1d2c3e4f5a60015,
  works = 0xb1d2c3e4f5a60016,
  partly = 0xb1d2c3e4f5a60017,
  unheeded = 0xb1d2c3e4f5a60018,
  refused = 0xb1d2c3e4f5a60019,
  only = 0xb1d2c3e4f5a6001a,
  duration_text = 0xb1d2c3e4f5a6001b,
};

/// The annotations of one field, struct or enumerant. Valid as long as its schema, so for ever.
class Annotations {
public:
  template <class Proto>
  explicit Annotations(Proto proto) : all_{proto.getAnnotations()} {}

  std::optional<capnp::schema::Value::Reader> find(Annotation wanted) const {
    for (const auto annotation : all_)
      if (annotation.getId() == static_cast<std::uint64_t>(wanted)) return annotation.getValue();
    return std::nullopt;
  }

  bool has(Annotation wanted) const { return find(wanted).has_value(); }

  std::optional<std::string_view> text(Annotation wanted) const {
    const auto found = find(wanted);
    if (!found) return std::nullopt;
    const auto text = found->getText();
    return std::string_view{text.begin(), text.size()};
  }

  bool flag(Annotation wanted, bool otherwise) const {
    const auto found = find(wanted);
    return found ? found->getBool() : otherwise;
  }

private:
  capnp::List<capnp::schema::Annotation>::Reader all_;
};

}  // namespace nomad::object
