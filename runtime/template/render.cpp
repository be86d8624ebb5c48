#include "runtime/template/render.hpp"

#include <algorithm>
#include <array>
#include <set>

#include "runtime/base/work.hpp"

namespace nomad::templates {
namespace {

/// Bytes of a message that are shown.
constexpr std::size_t longest_message = 64 * 1024;
/// What looking for secrets in a message may take: a tenth of a second.
constexpr std::uint64_t redaction_work = std::uint64_t{1} << 27U;
/// Bytes that tell most secrets apart.
constexpr std::size_t first_look = 16;

/// Finds secrets where they begin, the longest first: so nothing is left of one that begins with
/// another one.
class Secrets {
public:
  explicit Secrets(const std::set<std::string>& all) {
    for (auto each = all.rbegin(); each != all.rend(); ++each)
      if (!each->empty()) by_first_[static_cast<unsigned char>(each->front())].push_back(*each);
  }

  /// How long the one is that `text` begins with; 0 for none.
  Result<std::size_t> at(std::string_view text) {
    for (const auto secret : by_first_[static_cast<unsigned char>(text.front())]) {
      NOMAD_TRY(work_.take(first_look));
      if (secret.size() > text.size()) continue;
      if (secret.substr(0, first_look) != text.substr(0, std::min(secret.size(), first_look)))
        continue;
      NOMAD_TRY(work_.take(secret.size()));
      if (text.starts_with(secret)) return secret.size();
    }
    return std::size_t{0};
  }

private:
  std::array<std::vector<std::string_view>, 256> by_first_;
  Work work_{redaction_work};
};

/// The beginning of a message, in which each of `secrets` is "[redacted]": all the rest, if there
/// are too many to look for.
std::string redacted(std::string_view text, const std::set<std::string>& secrets) {
  constexpr std::string_view mark = "[redacted]";
  Secrets known{secrets};
  std::string out;
  while (!text.empty()) {
    if (out.size() >= longest_message) return out + "…";
    const auto found = known.at(text);
    if (!found) return out += mark;
    if (*found == 0)
      out += text.front();
    else
      out += mark;
    text.remove_prefix(std::max<std::size_t>(*found, 1));
  }
  return out;
}

}  // namespace

Result<TaskTemplate> TaskTemplate::parse(std::string text,
                                         const Functions& functions,
                                         TaskTemplateOptions options) {
  auto parsed = Template::parse(
      "", std::move(text),
      {.delimiters = options.delimiters,
       .missing_key = options.errors_on_missing_key ? MissingKey::error : MissingKey::zero,
       .functions = &functions});
  if (!parsed) return parsed.error().within("parse");
  return TaskTemplate{std::move(*parsed), std::move(options)};
}

Result<Rendered> TaskTemplate::render(Sources& sources, const Limits& limits) const {
  Context context{&sources, limits};
  context.name_space = options_.name_space;
  auto text = parsed_.execute(context, Value{});
  if (!text)
    return Error{text.error().code, "execute: " + redacted(text.error().what, context.secrets())};
  return Rendered{std::move(*text), std::move(context.dependencies())};
}

}  // namespace nomad::templates
