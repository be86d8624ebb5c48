#include "runtime/template/render.hpp"

#include <algorithm>
#include <set>

namespace nomad::templates {
namespace {

/// A message in which each of `secrets` is "[redacted]".
std::string redacted(std::string_view text, const std::set<std::string>& secrets) {
  std::string out;
  while (!text.empty()) {
    const auto found = std::ranges::find_if(secrets, [&text](const std::string& secret) {
      return !secret.empty() && text.starts_with(secret);
    });
    if (found == secrets.end()) {
      out += text.front();
      text.remove_prefix(1);
    } else {
      out += "[redacted]";
      text.remove_prefix(found->size());
    }
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
