#include "runtime/jobspec/parse/parse_job.hpp"

#include <array>
#include <memory>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "runtime/base/random.hpp"
#include "runtime/hcl/eval/body.hpp"
#include "runtime/hcl/eval/eval.hpp"
#include "runtime/hcl/functions/functions.hpp"
#include "runtime/hcl/syntax/parser.hpp"
#include "runtime/jobspec/canonical/canonicalize.hpp"
#include "runtime/jobspec/parse/decode.hpp"
#include "runtime/jobspec/parse/locals.hpp"
#include "runtime/jobspec/parse/variables.hpp"

namespace nomad::jobspec {

namespace {

using hcl::Diagnostics;
using hcl::Value;

/// Parsing is done for anybody who may reach the agent: far more than any job needs, but done in
/// well under a second.
constexpr hcl::EvalLimits job_limits{
    .work = 2'000'000 * Work::step, .value_weight = 16U << 20U, .made_bytes = 32U << 20U};

const hcl::BodySchema& file_schema() {
  static const hcl::BodySchema schema{
      {},
      {hcl::BlockSchema{"variables", {}}, hcl::BlockSchema{"variable", {"name"}},
       hcl::BlockSchema{"locals", {}}, hcl::BlockSchema{"job", {"name"}}}};
  return schema;
}

const hcl::BodySchema& hcl1_schema() {
  static const hcl::BodySchema schema{{}, {hcl::BlockSchema{"job", {"name"}}}};
  return schema;
}

/// A reference to something known only at run time, as it is written. Whether it stands in "${…}"
/// is found by looking around it in the text; what is found after the closing brace is part of the
/// language as files use it (see the tests for its corners).
std::string runtime_reference(std::string_view text, std::size_t start, std::size_t end) {
  std::string out{text.substr(start, end - start)};
  bool bracketed = false;
  for (std::size_t at = start; at >= 2; --at) {
    if (text[at - 1] == '{' && text[at - 2] == '$') {
      out.insert(0, text.substr(at - 2, start - at + 2));
      bracketed = true;
      break;
    }
    if (text[at - 1] != ' ') break;
  }
  if (!bracketed) return "${" + out + "}";
  for (std::size_t at = end + 1; at < text.size(); ++at) {
    if (text[at] == '}') {
      out += text.substr(end, at - end);
    } else if (text[at] != ' ') {
      out += '}';
      break;
    }
  }
  return out;
}

std::string lines(const Diagnostics& diagnostics) {
  std::string out;
  for (const hcl::Diagnostic& diagnostic : diagnostics)
    out += (out.empty() ? "" : "\n") + diagnostic.to_string();
  return out;
}

/// One parse, from text to job.
class JobParser {
public:
  JobParser(const ParseOptions& options, const hcl::FunctionTable& functions)
      : options_{options}, functions_{functions} {}

  ParsedJob run(const std::string& file_name, std::string text) {
    hcl::Parsed parsed = options_.hcl1 ? hcl::parse_hcl1(file_name, std::move(text))
                                       : hcl::parse_native_or_json(file_name, std::move(text));
    file_ = parsed.file;
    Diagnostics syntax = std::move(parsed.diagnostics);
    if (!parse_var_files(syntax)) return std::move(out_);
    const bool failed = hcl::has_errors(syntax);
    if (failed) out_.error = hcl::first_and_count(syntax);
    hcl::append(out_.diagnostics, std::move(syntax));
    if (failed) return std::move(out_);

    boost::json::object job = parse_body();
    if (hcl::has_errors(out_.diagnostics)) {
      out_.error = lines(out_.diagnostics);
      explain_cycle();
      return std::move(out_);
    }
    const bool bad_content = hcl::has_errors(free_diagnostics_);
    if (bad_content) out_.error = hcl::first_and_count(free_diagnostics_);
    hcl::append(out_.diagnostics, std::move(free_diagnostics_));
    if (bad_content) return std::move(out_);
    complete(job);
    out_.job = std::move(job);
    return std::move(out_);
  }

private:
  /// False: a file of values is no file at all, and nothing else is looked at.
  bool parse_var_files(Diagnostics& syntax) {
    const auto add = [&](const std::string& name, const std::string& text, std::string_view noun) {
      hcl::Parsed parsed = hcl::parse_native_or_json(name, text);
      if (!parsed.ok()) {
        out_.error
            = fmt::format("unable to parse {}: {}", noun, hcl::first_and_count(parsed.diagnostics));
        hcl::append(out_.diagnostics, std::move(parsed.diagnostics));
        return false;
      }
      hcl::append(syntax, std::move(parsed.diagnostics));
      var_files_.push_back(parsed.file);
      return true;
    };
    for (const NamedText& file : options_.var_files)
      if (!add(file.name, file.text, "var file")) return false;
    return options_.var_content.empty() || add("input.hcl", options_.var_content, "var content");
  }

  boost::json::object parse_body() {
    hcl::BodyContent content
        = hcl::Body{file_}.content(options_.hcl1 ? hcl1_schema() : file_schema());
    const bool failed = !content.diagnostics.empty();
    hcl::append(out_.diagnostics, std::move(content.diagnostics));
    if (failed) return {};

    Variables variables{functions_, out_.diagnostics};
    std::vector<Local> locals;
    for (const hcl::Block& block : content.blocks) {
      if (block.type == "variable") variables.declare(block);
      if (block.type == "variables") variables.declare_all(block);
    }
    for (const hcl::Block& block : content.blocks)
      if (block.type == "locals") collect_locals(block, locals);
    variables.assign(options_, var_files_);

    set_scope("var", Value::object(variables.values()));
    hcl::EvalContext context;
    context.variables = &scope_;
    context.functions = &functions_;
    context.budget = &budget_;
    context.undefined_variable
        = [this](const hcl::VariableExpr& reference) { return undefined_variable(reference); };
    EvaluatedLocals evaluated = evaluate_locals(locals, context);
    cycle_ = std::move(evaluated.cycle);
    hcl::append(out_.diagnostics, std::move(evaluated.diagnostics));
    if (hcl::has_errors(out_.diagnostics)) return {};
    set_scope("local", Value::object(std::move(evaluated.values)));
    return decode_jobs(content, context);
  }

  /// Beside the error that clients know, people are told which locals go round in a circle.
  void explain_cycle() {
    if (cycle_.empty()) return;
    hcl::Diagnostic note
        = hcl::error_without_place("Locals refer to each other", "The circle is " + cycle_ + ".");
    note.severity = hcl::Severity::warning;
    out_.diagnostics.push_back(std::move(note));
  }

  void collect_locals(const hcl::Block& block, std::vector<Local>& locals) {
    hcl::JustAttributes found = block.body.just_attributes();
    hcl::append(out_.diagnostics, std::move(found.diagnostics));
    for (const hcl::Attribute& attribute : found.attributes)
      locals.push_back({attribute.name, attribute.expr});
  }

  void set_scope(std::string name, Value value) {
    scope_.emplace_back(std::move(name), std::move(value));
  }

  hcl::Evaluated undefined_variable(const hcl::VariableExpr& reference) const {
    const std::size_t origin = reference.file->source().origin().byte;
    const std::string_view text = file_->source().text();
    return {Value::string(runtime_reference(text, origin + reference.span.begin,
                                            origin + reference.span.end)),
            {}};
  }

  boost::json::object decode_jobs(const hcl::BodyContent& content,
                                  const hcl::EvalContext& context) {
    const hcl::Block* job = nullptr;
    DecodedJob decoded;
    for (const hcl::Block& block : content.blocks) {
      if (block.type != "job") continue;
      if (job != nullptr) {
        out_.diagnostics.push_back(hcl::error_at(
            block.source(), block.definition_span, "Duplicate job block",
            fmt::format("Only one block of type \"job\" is allowed. Previous definition was at "
                        "{}.",
                        job->definition().to_string())));
        continue;
      }
      job = &block;
      decoded = decode_job(block, context, options_.hcl1);
      hcl::append(out_.diagnostics, std::move(decoded.diagnostics));
    }
    if (job == nullptr)
      out_.diagnostics.push_back(
          hcl::error_without_place("Missing job block", "A job block is required"));
    free_diagnostics_ = std::move(decoded.free_diagnostics);
    return std::move(decoded.job);
  }

  const ParseOptions& options_;
  const hcl::FunctionTable& functions_;
  ParsedJob out_;
  Diagnostics free_diagnostics_;
  std::string cycle_;
  std::shared_ptr<const hcl::File> file_;
  std::vector<std::shared_ptr<const hcl::File>> var_files_;
  std::vector<std::pair<std::string, Value>> scope_;
  hcl::EvalBudget budget_{.limits = job_limits};
};

void fill_random(std::array<std::uint8_t, 16>& bytes) {
  Random random = Random::from_system();
  for (std::uint8_t& byte : bytes)
    byte = static_cast<std::uint8_t>(random.next());
}

}  // namespace

ParsedJob parse_job(const std::string& file_name, std::string text, const ParseOptions& options) {
  if (options.functions != nullptr)
    return JobParser{options, *options.functions}.run(file_name, std::move(text));
  static const hcl::FunctionTable functions
      = hcl::job_functions({.files = nullptr, .random = fill_random});
  return JobParser{options, functions}.run(file_name, std::move(text));
}

}  // namespace nomad::jobspec
