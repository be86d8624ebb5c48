#include "runtime/template/eval/template.hpp"

#include "runtime/base/text.hpp"
#include "runtime/template/eval/executor.hpp"

namespace nomad::templates {

Result<Template> Template::parse(std::string name, std::string text, TemplateOptions options) {
  Template out;
  const ParseOptions how{.delimiters = options.delimiters,
                         .has_function = [&options](std::string_view function) {
                           return options.functions->find(function) != nullptr;
                         }};
  out.trees_ = NOMAD_TRY(parse_template(name, text, how));
  out.name_ = std::move(name);
  out.text_ = std::move(text);
  out.options_ = std::move(options);
  return out;
}

Result<std::string> Template::execute(Context& context, const Value& data) const {
  std::string out;
  context.execute
      = [this, &context](std::string_view name, const Value& dot) -> Result<std::string> {
    if (trees_.find(name) == trees_.end())
      return Error{Errc::invalid_argument, "template: no template " + quote(name)
                                               + " associated with template " + quote(name_)};
    std::string made;
    NOMAD_TRY((Executor{*this, context, made}.run(name, dot)));
    NOMAD_TRY(context.make(made.size()));
    return made;
  };
  auto done = Executor{*this, context, out}.run(name_, data);
  context.execute = nullptr;
  if (!done) return done.error();
  return out;
}

}  // namespace nomad::templates
