// Everything a job consists of: for each block its attributes and nested blocks, with the name in
// job files, the name in JSON, the type, and what absence means.
//
// It is worked out once, from the annotations of schema/job.capnp. Decoding of job files and
// requests, defaults, completion of trees and the structural diff are all driven by it, so a
// new attribute is one line of schema. May be used from any thread; nothing ever changes.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <boost/json/fwd.hpp>

namespace nomad::object {
struct FieldPlan;
struct StructPlan;
}  // namespace nomad::object

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
  label = 2,          ///< a label of the block in job files
  api_only = 4,       ///< merged elsewhere in the server form, which does not have it
  server_only = 8,    ///< computed by servers; clients' values are ignored
  optional_key = 16,  ///< left out of answers when null
  by_value = 32,      ///< Go holds the elements themselves, which only error texts show
  pointer = 64,       ///< a single value that may be null in the server form too
  bookkeeping = 128,  ///< tells what became of the job: no part of its specification
};

constexpr Trait operator|(Trait a, Trait b) {
  return static_cast<Trait>(static_cast<std::uint8_t>(a) | static_cast<std::uint8_t>(b));
}

/// What this release makes of a field; see schema/annotations.capnp.
enum class Support : std::uint8_t {
  unsaid,    ///< not a field of job files, or inside of a block that is refused or unheeded
  works,     ///< as in Nomad
  partly,    ///< but for what the note says
  unheeded,  ///< has no effect yet, and is warned of
  refused,   ///< is an error as long as it has no effect
};

struct BlockType;

struct Field {
  std::string_view json;
  std::string_view hcl;  ///< empty: not written in job files
  Kind kind = Kind::text;
  Trait traits = Trait::none;
  const nomad::object::FieldPlan* plan = nullptr;  ///< its position in drafts
  const BlockType* block = nullptr;                ///< of block, blocks and block_map
  const boost::json::value* fallback = nullptr;    ///< what canonicalization fills in, if anything
  Support support = Support::unsaid;
  std::string_view note{};               ///< of support; its values are for ever
  std::vector<std::string_view> only{};  ///< values of a refused text that work

  /// Whether it has any of the traits.
  constexpr bool has(Trait any) const {
    return (static_cast<std::uint8_t>(traits) & static_cast<std::uint8_t>(any)) != 0;
  }

  constexpr bool is_attribute() const { return kind < Kind::block; }

  /// One value, which requests may leave null only if the schema says so.
  constexpr bool is_single() const { return kind < Kind::texts; }
};

/// How a block is decoded from job files beyond what its fields say.
enum class Decoding : std::uint8_t { plain, job, group, task, constraint, affinity };

struct BlockType {
  std::string_view name{};                          ///< as Go's decoder calls it in errors
  std::vector<Field> fields{};                      ///< in the order of Nomad's API
  const nomad::object::StructPlan* plan = nullptr;  ///< of drafts
  Decoding decoding = Decoding::plain;
  bool has_fallbacks = false;  ///< here, or in a block below
  /// Those that are refused or unheeded, or have such in their blocks.
  std::vector<const Field*> judged{};

  /// By JSON name, exactly. Null when there is none.
  const Field* find(std::string_view json) const;
};

/// The blocks that code treats in a way of their own. All others are reached from `job`.
struct BlockTypes {
  const BlockType& job;
  const BlockType& group;
  const BlockType& task;
  const BlockType& service;
  const BlockType& update;
  const BlockType& restart;
  const BlockType& tmpl;
  const BlockType& scaling;
  const BlockType& vault;
  const BlockType& connect;
  const BlockType& multiregion;
};

const BlockTypes& block_types();

}  // namespace nomad::jobspec
