// What no field of a job may be, whatever it is for: longer than what is kept of it, with null
// characters, a name or key with control characters, negative, or so large that sums of it
// overflow. Nomad takes all of these.
#include "runtime/jobspec/validate/bounds.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "runtime/base/text.hpp"
#include "runtime/jobspec/schema.hpp"
#include "runtime/jobspec/validate/rules.hpp"

namespace nomad::jobspec {
namespace {

using namespace std::string_view_literals;

/// Of names and labels, which are in keys and paths of all that belongs to a job.
constexpr std::size_t most_name_bytes = 1024;

/// Of amounts of a resource: sums over all tasks of a node, in bytes, stay within 64 bits.
constexpr std::int64_t most_amount = std::int64_t{1} << 32;

/// Numbers that Nomad has a rule for, or that mean something below zero.
constexpr std::array may_be_negative{"CPU"sv,
                                     "Canary"sv,
                                     "Count"sv,
                                     "Gid"sv,
                                     "Grace"sv,
                                     "HealthyDeadline"sv,
                                     "Interval"sv,
                                     "KillTimeout"sv,
                                     "Limit"sv,
                                     "LostAfter"sv,
                                     "MaxFileSizeMB"sv,
                                     "MaxFiles"sv,
                                     "MaxParallel"sv,
                                     "MemoryMB"sv,
                                     "MemoryMaxMB"sv,
                                     "MinHealthyTime"sv,
                                     "Priority"sv,
                                     "ProgressDeadline"sv,
                                     "ShutdownDelay"sv,
                                     "SizeMB"sv,
                                     "Splay"sv,
                                     "Stagger"sv,
                                     "StopAfterClientDisconnect"sv,
                                     "StopOnClientAfter"sv,
                                     "MaxClientDisconnect"sv,
                                     "To"sv,
                                     "Uid"sv,
                                     "Weight"sv};

constexpr std::array amounts{"CPU"sv,         "Cores"sv,         "DiskMB"sv,   "IOPS"sv,
                             "MBits"sv,       "MaxFileSizeMB"sv, "MaxFiles"sv, "MemoryMB"sv,
                             "MemoryMaxMB"sv, "SizeMB"sv};

template <std::size_t size>
bool is_among(std::string_view name, const std::array<std::string_view, size>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool has_null(std::string_view text) {
  return text.find('\0') != std::string_view::npos;
}

/// In UTF-8: C0, DEL and C1. Null characters have a rule of their own.
bool has_control(std::string_view text) {
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if ((byte != 0 && byte < 0x20) || byte == 0x7f) return true;
    if (byte == 0xc2 && at + 1 < text.size() && static_cast<unsigned char>(text[at + 1]) < 0xa0)
      return true;
  }
  return false;
}

/// Lists of names and of keys.
constexpr std::array name_lists{"Tags"sv, "CanaryTags"sv, "MetaRequired"sv, "MetaOptional"sv};

/// Of JSON text, where a null character is written as \u0000.
bool has_escaped_null(std::string_view json) {
  constexpr std::string_view escaped = "\\u0000";
  for (auto at = json.find(escaped); at != std::string_view::npos;
       at = json.find(escaped, at + 1)) {
    std::size_t slashes = 1;
    while (slashes <= at && json[at - slashes] == '\\')
      ++slashes;
    if (slashes % 2 == 1) return true;
  }
  return false;
}

std::string too_long(std::string_view field,
                     std::uint64_t bytes,
                     std::uint64_t most,
                     std::string_view limit) {
  return fmt::format("{} has {} bytes, at most {} are taken ({})", field, bytes, most, limit);
}

class BoundCheck {
public:
  BoundCheck(const Bounds& bounds, Mistakes& out) : bounds_{bounds}, out_{out} {}

  void visit(const DraftBlock& block, const BlockType& type) {
    const std::string_view outer_name = name_;
    if (const Field* name = type.find("Name")) name_ = block.text(*name->plan);
    for (const Field& field : type.fields)
      if (!field.has(Trait::server_only) && block.has(*field.plan)) visit(block, type, field);
    name_ = outer_name;
  }

  void check_whole() {
    if (bounds_.job_bytes != 0 && bytes_ > bounds_.job_bytes)
      out_.add(too_long("job", bytes_, bounds_.job_bytes, "limits.job_max_kb"));
  }

private:
  void visit(const DraftBlock& block, const BlockType& type, const Field& field) {
    const auto& plan = *field.plan;
    switch (field.kind) {
      case Kind::text:
        return take_field(field, block.text(plan), is_own_rule(type, field));
      case Kind::free_map:
        bytes_ += block.text(plan).size();
        if (has_escaped_null(block.text(plan))) add(field, "contains a null character");
        return;
      case Kind::texts:
        for (const auto text : block.texts(plan)) {
          take(field, view(text));
          if (is_among(field.json, name_lists)) check_control(field, view(text));
        }
        return;
      case Kind::text_map:
        return take_map(field, block.list(plan));
      case Kind::block:
        return visit(block.child(plan), *field.block);
      case Kind::blocks:
        for (const DraftBlock inner : block.list(plan))
          visit(inner, *field.block);
        return;
      case Kind::block_map:
        for (const DraftBlock entry : block.list(plan)) {
          take_key(field, entry.text("Key"));
          visit(entry.child("Value"), *field.block);
        }
        return;
      case Kind::texts_map:
        for (const DraftBlock entry : block.list(plan)) {
          take_key(field, entry.text("Key"));
          for (const auto text : entry.texts("Value"))
            take(field, view(text));
        }
        return;
      case Kind::boolean:
      case Kind::bytes:
        return;
      case Kind::integer:
      case Kind::int64:
      case Kind::int8:
      case Kind::uint8:
      case Kind::uint64:
      case Kind::duration:
        return check_number(type, field, block.number(plan));
    }
  }

  /// Nomad's own rules about null characters, and ours about lengths, have told of it.
  static bool is_own_rule(const BlockType& type, const Field& field) {
    const auto& known = block_types();
    return (field.json == "Name" || field.json == "ID")
           && (&type == &known.job || &type == &known.group);
  }

  void take_field(const Field& field, std::string_view text, bool is_told) {
    const bool is_name = field.json == "Name" || field.has(Trait::label);
    if (is_name || field.json == "ID") check_control(field, text);
    if (is_told) {
      bytes_ += text.size();
      return;
    }
    if (is_name && text.size() > most_name_bytes)
      add(field, fmt::format("has more than {} bytes", most_name_bytes));
    // A file's content; all other texts become paths, labels, arguments or parts of requests.
    if (field.json == "EmbeddedTmpl")
      bytes_ += text.size();
    else
      take(field, text);
  }

  void take(const Field& field, std::string_view text) {
    bytes_ += text.size();
    if (has_null(text)) add(field, "contains a null character");
  }

  void take_key(const Field& field, std::string_view key) {
    take(field, key);
    check_control(field, key);
  }

  /// Names and keys are shown, and are in labels, paths and environments.
  void check_control(const Field& field, std::string_view name) {
    if (has_control(name)) add(field, "has a control character in " + quote(name.substr(0, 64)));
  }

  void take_map(const Field& field, const DraftBlocks& entries) {
    const auto before = bytes_;
    bool any_null = false;
    for (const DraftBlock entry : entries) {
      const std::string_view key = entry.text("Key");
      check_control(field, key);
      if (field.json == "Env" && (key.empty() || key.find('=') != key.npos))
        add(field, "has no variable's name in " + quote(key.substr(0, 64)));
      for (const std::string_view text : {entry.text("Key"), entry.text("Value")}) {
        bytes_ += text.size();
        any_null = any_null || has_null(text);
      }
    }
    if (any_null) add(field, "contains a null character");
    const bool is_env = field.json == "Env" || field.json == "Meta";
    if (is_env && bounds_.env_bytes != 0 && bytes_ - before > bounds_.env_bytes)
      out_.add(location()
               + too_long(field.hcl, bytes_ - before, bounds_.env_bytes, "limits.job_env_max_kb"));
  }

  /// Whether a negative number has a meaning, or a rule of Nomad's own that tells of it.
  static bool is_told(const BlockType& type, const Field& field) {
    const bool is_of_check = type.find("Interval") != nullptr && type.find("Timeout") != nullptr;
    return &type == &block_types().scaling || is_of_check || is_among(field.json, may_be_negative);
  }

  void check_number(const BlockType& type, const Field& field, std::int64_t number) {
    const bool is_signed = field.kind != Kind::uint64 && field.kind != Kind::uint8;
    if (is_signed && number < 0 && !is_told(type, field))
      add(field, fmt::format("can't be negative: {}", number));
    if (number > most_amount && is_among(field.json, amounts))
      add(field, fmt::format("is too large: {} > {}", number, most_amount));
  }

  void add(const Field& field, std::string_view what) {
    out_.add([&] {
      return fmt::format("{}{} {}", location(), field.hcl.empty() ? field.json : field.hcl, what);
    });
  }

  /// The block that has a name around what is wrong.
  std::string location() const {
    return name_.empty() ? "" : quote(name_.substr(0, most_name_bytes)) + ": ";
  }

  const Bounds& bounds_;
  Mistakes& out_;
  std::string_view name_{};
  std::uint64_t bytes_ = 0;
};

}  // namespace

void check_bounds(const DraftBlock& job, const Bounds& bounds, Mistakes& out) {
  BoundCheck check{bounds, out};
  check.visit(job, block_types().job);
  check.check_whole();
}

Result<> Bounds::check_text(std::string_view field, std::uint64_t bytes) const {
  if (text_bytes == 0 || bytes <= text_bytes) return {};
  return Error{Errc::invalid_argument, too_long(field, bytes, text_bytes, "limits.text_max_kb")};
}

Result<> Bounds::check_key(std::string_view field, std::string_view key) {
  NOMAD_TRY(check_null(field, key));
  if (!has_control(key)) return {};
  return Error{Errc::invalid_argument,
               fmt::format("{} has a control character in {}", field, quote(key.substr(0, 64)))};
}

Result<> Bounds::check_null(std::string_view field, std::string_view text) {
  if (!has_null(text)) return {};
  return Error{Errc::invalid_argument, fmt::format("{} contains a null character", field)};
}

}  // namespace nomad::jobspec
