// Renders the template of a task as consul-template does: with its functions, its treatment of
// missing keys and its words for errors.
//
// A template is rendered until nothing that it asks for is missing: its text so far is made of
// nothing where an answer is missing, and is not to be written.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.hpp"
#include "runtime/template/eval/template.hpp"

namespace nomad::templates {

struct TaskTemplateOptions {
  Delimiters delimiters{};
  /// error_on_missing_key: a key that a map lacks ends the rendering.
  bool errors_on_missing_key = false;
  /// The namespace of variables without one.
  std::string name_space = "default";
};

struct Rendered {
  std::string text;
  Dependencies dependencies;

  /// Whether all that was asked for is there.
  bool is_complete() const { return dependencies.missing().empty(); }
};

/// The functions that tasks' templates may not call unless the client's configuration says so.
inline constexpr std::string_view default_function_denylist[] = {"plugin", "writeToFile"};

class TaskTemplate {
public:
  /// Fails with `parse: template: :LINE: …`. `functions` outlives the template.
  static Result<TaskTemplate> parse(std::string text,
                                    const Functions& functions,
                                    TaskTemplateOptions options = {});

  /// Fails with `execute: template: :LINE:COLUMN: executing "" at <…>: …`. What was asked for until
  /// then is lost: an error does not go away by an answer. Values of variables are `[redacted]`.
  Result<Rendered> render(Sources& sources, const Limits& limits = {}) const;

private:
  TaskTemplate(Template parsed, TaskTemplateOptions options)
      : parsed_{std::move(parsed)}, options_{std::move(options)} {}

  Template parsed_;
  TaskTemplateOptions options_;
};

}  // namespace nomad::templates
