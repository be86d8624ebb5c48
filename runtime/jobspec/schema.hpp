// The one table of everything a job consists of: for each block its attributes and nested blocks,
// with the name in job files, the name in JSON, the type, and what absence means.
//
// Decoding of job files, matching of JSON names, completion of trees and the structural diff are
// all driven by it, so a new attribute is one line here. May be used from any thread; all data is
// constant.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace nomad::jobspec {

enum class Kind : std::uint8_t {
  text,
  boolean,
  integer,  ///< 64 bits, Go's int
  int64,
  int8,
  uint8,
  uint64,
  duration,   ///< nanoseconds
  texts,      ///< list of strings
  bytes,      ///< base64
  block,      ///< one nested object
  blocks,     ///< list of nested objects
  block_map,  ///< object of nested objects, keyed by label
  text_map,   ///< block with free names and string values
  texts_map,  ///< block with free names and lists of strings
  free_map,   ///< block without schema: task config, scaling policy, proxy config
};

/// What is special about a field; combined by `|`.
enum class Trait : std::uint8_t {
  none = 0,
  nullable = 1,       ///< absent is null in the api form; otherwise it is the type's zero
  required = 2,       ///< must be given in job files
  label = 4,          ///< a label of the block in job files
  api_only = 8,       ///< merged elsewhere in the server form, which does not have it
  server_only = 16,   ///< computed by servers; clients' values are ignored
  optional_key = 32,  ///< left out of answers when null
  by_value = 64,      ///< Go holds the elements themselves, which only error texts show
  pointer = 128,      ///< a single value that may be null in the server form too
};

constexpr Trait operator|(Trait a, Trait b) {
  return static_cast<Trait>(static_cast<std::uint8_t>(a) | static_cast<std::uint8_t>(b));
}

struct BlockType;

struct Field {
  std::string_view json;
  std::string_view hcl;  ///< empty: not written in job files
  Kind kind = Kind::text;
  Trait traits = Trait::none;
  const BlockType* block = nullptr;  ///< of block, blocks and block_map

  constexpr bool has(Trait trait) const {
    return (static_cast<std::uint8_t>(traits) & static_cast<std::uint8_t>(trait)) != 0;
  }

  constexpr bool is_attribute() const { return kind < Kind::block; }
};

/// How a block is decoded from job files beyond what its fields say.
enum class Decoding : std::uint8_t { plain, job, group, task, constraint, affinity };

struct BlockType {
  std::string_view name;  ///< as Go's decoder calls it in errors
  std::span<const Field> fields;
  Decoding decoding = Decoding::plain;

  /// By JSON name, exactly, or without regard to case. Null when there is none.
  const Field* find(std::string_view json) const;
  const Field* find_any_case(std::string_view json) const;
};

extern const BlockType job_type;
extern const BlockType group_type;
extern const BlockType task_type;
extern const BlockType service_type;
extern const BlockType check_type;
extern const BlockType connect_type;
extern const BlockType constraint_type;
extern const BlockType affinity_type;
extern const BlockType spread_type;
extern const BlockType update_type;
extern const BlockType network_type;
extern const BlockType resources_type;
extern const BlockType logs_type;
extern const BlockType scaling_type;
extern const BlockType vault_type;
extern const BlockType template_type;
extern const BlockType volume_type;
extern const BlockType multiregion_type;

}  // namespace nomad::jobspec
