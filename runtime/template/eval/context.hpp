// What one rendering uses up and gathers: its budget, its sources, what it asked them, its scratch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/result.hpp"
#include "runtime/base/work.hpp"
#include "runtime/template/eval/sources.hpp"
#include "runtime/template/value/value.hpp"

namespace nomad::templates {

/// What a rendering may use at most. Beyond, it fails with `too_large`.
/// `look` is asked whether the result is still wanted (base/work.hpp): for stops and deadlines.
struct Limits {
  std::uint64_t steps = 5'000'000;              ///< Actions, arguments, items that functions make.
  std::size_t output = std::size_t{32} << 20U;  ///< Bytes of the result.
  std::size_t made = std::size_t{256} << 20U;   ///< Bytes of all texts that functions made.
  int depth = 400;  ///< Of actions, parentheses and templates in one another.
  std::uint64_t work = std::uint64_t{4} << 30U;  ///< Bytes that are touched, and steps.
  Work::Look look{};
};

class Context {
public:
  /// `sources`, if any, outlives the context. Without, functions that need them fail.
  explicit Context(Sources* sources = nullptr, const Limits& limits = {})
      : sources_{sources},
        limits_{limits},
        work_{limits.work, limits.look},
        scratch_{std::make_shared<Map>()} {}

  /// Takes `count` steps.
  Result<void> step(std::uint64_t count = 1) {
    if (count > limits_.steps - steps_) return too_much("more than %d steps", limits_.steps);
    steps_ += count;
    return work_.take_steps(count);
  }

  /// Announces that a function makes a text of `bytes` bytes.
  Result<void> make(std::size_t bytes) {
    if (bytes > limits_.made - made_) return too_much("texts of more than %d bytes", limits_.made);
    made_ += bytes;
    return work_.take(bytes);
  }

  /// What is paid for bytes that are read, compared or copied, before that is done.
  Work& work() { return work_; }

  /// How long a text may get that is made now.
  std::size_t room() const { return limits_.made - made_; }

  Result<Sources*> sources() const {
    if (sources_ == nullptr) return Error{Errc::unavailable, "not available here"};
    return sources_;
  }

  const Limits& limits() const { return limits_; }

  /// The values that `scratch` keeps.
  const std::shared_ptr<Map>& scratch() const { return scratch_; }

  Dependencies& dependencies() { return dependencies_; }

  /// Values that messages must not show.
  std::set<std::string>& secrets() { return secrets_; }

  /// The namespace of `nomadVar` without one.
  std::string name_space = "default";
  /// Renders another template of the set, for `executeTemplate`.
  std::function<Result<std::string>(std::string_view name, const Value& data)> execute{};
  /// Levels that are open now.
  int depth = 0;

private:
  static Error too_much(std::string_view what, std::uint64_t limit);

  Sources* sources_;
  Limits limits_;
  Work work_;
  std::uint64_t steps_ = 0;
  std::size_t made_ = 0;
  std::shared_ptr<Map> scratch_;
  Dependencies dependencies_;
  std::set<std::string> secrets_;
};

/// A function that is being called. The number and the types of the arguments are those it wants.
struct Call {
  Context& context;
  std::span<const Value> arguments;

  std::size_t size() const { return arguments.size(); }

  const Value& operator[](std::size_t position) const { return arguments[position]; }

  std::string_view text(std::size_t position) const { return arguments[position].as_text(); }

  std::int64_t integer(std::size_t position) const { return arguments[position].as_integer(); }
};

using FunctionBody = Result<Value> (*)(Call& call);

/// Who may call what.
struct Function {
  std::string_view name;
  std::vector<const Type*> parameters;
  bool is_variadic = false;  ///< The last parameter stands for any number of arguments.
  FunctionBody body = nullptr;
};

/// What "{{.Name}}" calls of a type's methods; null if there is none of the name.
const Function* find_method(std::span<const Function> methods, std::string_view name);

/// A text as a result, after its bytes were paid for.
Result<Value> made_text(Context& context, std::string text);

/// What is paid for the texts among the arguments of a call that reads them.
Result<void> pay_for_texts(const Call& call);

/// An error of a function.
Error function_error(std::string what);

}  // namespace nomad::templates
