// What of a job this release does not carry out, as the job's schema says.
#include <algorithm>

#include <boost/json/value.hpp>
#include <fmt/format.h>

#include "runtime/base/text.hpp"
#include "runtime/jobspec/schema.hpp"
#include "runtime/jobspec/tree.hpp"
#include "runtime/jobspec/validate/rules.hpp"

namespace nomad::jobspec {
namespace {

/// A block among those around it.
struct BlockPath {
  const BlockPath* outer = nullptr;
  std::string_view block{};
  std::string_view name{};
  bool is_unheeded = false;  ///< It, or one around it, which has been told.

  /// "group "web", task "server", network: ".
  std::string text() const { return block.empty() ? std::string{} : path() + ": "; }

private:
  std::string path() const {
    std::string out;
    if (outer != nullptr && !outer->block.empty()) out = outer->path() + ", ";
    out += block;
    if (!name.empty()) out += ' ' + quote(name);
    return out;
  }
};

std::string_view name_of(const DraftBlock& block, const BlockType& type) {
  const Field* name = type.find("Name");
  return name == nullptr ? std::string_view{} : block.text(*name->plan);
}

/// Whether it was given, as something else than what holds anyway.
bool says_something(const DraftBlock& block, const Field& field) {
  const nomad::object::FieldPlan& plan = *field.plan;
  if (!block.has(plan)) return false;
  if (field.kind == Kind::text) {
    const std::string_view text = block.text(plan);
    return !text.empty() && (field.fallback == nullptr || text != field.fallback->get_string())
           && std::find(field.only.begin(), field.only.end(), text) == field.only.end();
  }
  if (field.kind == Kind::free_map) {
    const std::string_view content = block.text(plan);
    return !content.empty() && content != "{}" && content != "null";
  }
  if (field.kind == Kind::texts) return block.texts(plan).size() > 0;
  if (field.kind == Kind::bytes) return block.bytes(plan).size() > 0;
  if (field.kind == Kind::block) return true;
  if (!field.is_single()) return !block.list(plan).empty();
  const std::int64_t number = block.number(plan);
  if (field.fallback == nullptr) return number != 0;
  return number
         != (field.fallback->is_bool() ? std::int64_t{field.fallback->get_bool()}
                                       : tree::number_of(*field.fallback));
}

class SupportCheck {
public:
  SupportCheck(Mistakes& refused, Mistakes& unheeded) : refused_{refused}, unheeded_{unheeded} {}

  void visit(const DraftBlock& block, const BlockType& type, const BlockPath& location) {
    for (const Field* field : type.judged) {
      if (!says_something(block, *field)) continue;
      const Support support = field->support;
      if (support == Support::refused) refuse(block, *field, location);
      if (support == Support::unheeded && !location.is_unheeded)
        unheeded_.add([&] {
          return fmt::format("{}{} has no effect yet: {}", location.text(), field->hcl,
                             field->note);
        });
      if (support != Support::refused) visit_blocks(block, *field, location);
    }
  }

private:
  void refuse(const DraftBlock& block, const Field& field, const BlockPath& location) {
    if (field.note.empty()) return;  // one of Nomad's own rules does
    refused_.add([&] {
      const std::string value
          = field.only.empty() ? "" : fmt::format(" = {}", quote(block.text(*field.plan)));
      return fmt::format("{}{}{} is not supported yet: {}", location.text(), field.hcl, value,
                         field.note);
    });
  }

  void visit_blocks(const DraftBlock& block, const Field& field, const BlockPath& location) {
    if (field.block == nullptr || field.block->judged.empty()) return;
    const auto enter = [&](const DraftBlock& inner) {
      visit(inner, *field.block,
            {.outer = &location,
             .block = field.hcl,
             .name = name_of(inner, *field.block),
             .is_unheeded = location.is_unheeded || field.support == Support::unheeded});
    };
    if (field.kind == Kind::block) return enter(block.child(*field.plan));
    for (const DraftBlock element : block.list(*field.plan))
      enter(field.kind == Kind::block_map ? element.child("Value") : element);
  }

  Mistakes& refused_;
  Mistakes& unheeded_;
};

}  // namespace

void check_support(const DraftBlock& job,
                   bool allow_refused,
                   Mistakes& errors,
                   Mistakes& warnings) {
  SupportCheck{allow_refused ? warnings : errors, warnings}.visit(job, block_types().job, {});
}

}  // namespace nomad::jobspec
