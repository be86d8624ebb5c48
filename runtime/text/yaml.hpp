// YAML 1.1 on libyaml, as the packages of Go that are ported from it have it: events of a text, an
// emitter with a limit, and what a plain scalar looks like. What values are made of is for others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <yaml.h>

#include "runtime/base/result.hpp"

namespace nomad {

/// What libyaml says next; frees itself.
class YamlEvent {
public:
  YamlEvent() = default;

  ~YamlEvent() { yaml_event_delete(&event_); }

  YamlEvent(const YamlEvent&) = delete;
  YamlEvent& operator=(const YamlEvent&) = delete;

  yaml_event_type_t type() const { return event_.type; }

  /// Counted from 0.
  const yaml_mark_t& start() const { return event_.start_mark; }

  // Of scalars, aliases, and starts of sequences and mappings; empty if there is none.
  std::string_view anchor() const;
  std::string_view tag() const;

  /// Of a scalar.
  std::string_view text() const;

  bool is_plain() const { return event_.data.scalar.style == YAML_PLAIN_SCALAR_STYLE; }

  /// Neither a tag nor its style says what it is.
  bool is_implicit() const { return event_.data.scalar.plain_implicit != 0; }

  bool is_quoted() const {
    return event_.data.scalar.style == YAML_SINGLE_QUOTED_SCALAR_STYLE
           || event_.data.scalar.style == YAML_DOUBLE_QUOTED_SCALAR_STYLE;
  }

private:
  friend class YamlParser;

  yaml_event_t event_{};
};

class YamlParser {
public:
  /// The text outlives the parser.
  explicit YamlParser(std::string_view text);
  ~YamlParser();
  YamlParser(const YamlParser&) = delete;
  YamlParser& operator=(const YamlParser&) = delete;

  /// False on a mistake in the text.
  bool next(YamlEvent& event);

  // The mistake. Its line is counted from 1 and 0 if unknown, its column from 0.
  std::string_view problem() const;
  yaml_mark_t problem_mark() const;

private:
  yaml_parser_t parser_{};
};

/// Writes one document, without "..." at its end. Fails with `too_large` where that gets longer
/// than `limit` bytes.
class YamlEmitter {
public:
  explicit YamlEmitter(std::size_t limit);
  ~YamlEmitter();
  YamlEmitter(const YamlEmitter&) = delete;
  YamlEmitter& operator=(const YamlEmitter&) = delete;

  Result<void> begin();
  Result<void> scalar(std::string_view text, yaml_scalar_style_t style, const char* tag = nullptr);
  Result<void> begin_sequence();
  Result<void> end_sequence();
  Result<void> begin_mapping();
  Result<void> end_mapping();
  Result<std::string> finish();

private:
  static int write(void* self, unsigned char* bytes, std::size_t size);
  Result<void> emit(yaml_event_t& event, int made);

  yaml_emitter_t emitter_{};
  std::size_t limit_;
  std::string out_;
};

/// What a plain scalar stands for by its whole text.
enum class YamlWord : std::uint8_t { none, null, yes, no, infinity, minus_infinity, not_a_number };

YamlWord yaml_word(std::string_view text);

/// [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?
bool is_yaml_float(std::string_view text);

}  // namespace nomad
