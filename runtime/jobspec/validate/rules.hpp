// The rules behind validate.hpp, one function per block of a job. Each collects the block's
// mistakes; what they are prefixed with is the caller's choice.
//
// All take the server form. Private to this folder.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/duration.hpp"
#include "runtime/base/utf8.hpp"
#include "runtime/jobspec/validate/validate.hpp"
#include "runtime/object/draft.hpp"

namespace nomad::jobspec {

/// Mistakes of one block, joined to one text where they are nested in another's. Of very many the
/// first are kept, up to `most_bytes`: the one that passes the bound is cut, the others are
/// counted.
class Mistakes {
public:
  static constexpr std::size_t most_bytes = 64 * 1024;

  void add(std::string text) {
    if (is_full_) {
      ++left_out_;
      return;
    }
    if (bytes_ + text.size() > most_bytes) {
      is_full_ = true;
      text.resize(utf8_prefix(text, most_bytes - bytes_).size());
    }
    bytes_ += text.size();
    texts_.push_back(std::move(text));
  }

  /// Adds what `make` returns, which is called only if there is room: for what names the blocks
  /// around it, whose names may be as long as a request.
  template <std::invocable Make>
  void add(Make&& make) {
    if (is_full_)
      ++left_out_;
    else
      add(std::string{make()});
  }

  /// Takes the others over one by one.
  void add_each(Mistakes&& more) {
    for (std::string& text : more.texts_)
      add(std::move(text));
    left_out_ += more.left_out_;
  }

  /// Takes the others over as one, if there are any: "<prefix><joined>".
  void add_joined(std::string_view prefix, const Mistakes& nested) {
    if (!nested.empty()) add([&] { return std::string{prefix} + nested.text(); });
  }

  bool empty() const noexcept { return texts_.empty(); }

  std::string text() const { return join_errors(texts()); }

  std::vector<std::string> texts() const {
    auto all = texts_;
    if (left_out_ != 0) all.push_back("and " + std::to_string(left_out_) + " more");
    return all;
  }

private:
  std::vector<std::string> texts_;
  std::size_t bytes_ = 0;
  std::size_t left_out_ = 0;
  bool is_full_ = false;
};

inline std::string duration_text(std::int64_t nanoseconds) {
  return format_duration(Nanoseconds{nanoseconds});
}

// placement
Mistakes check_constraint(const DraftBlock& constraint);
Mistakes check_affinity(const DraftBlock& affinity);
Mistakes check_spread(const DraftBlock& spread);
/// Every constraint of a list, prefixed "Constraint N validation failed: ".
void check_constraints(const DraftBlock& in, Mistakes& out);
/// Affinities of jobs, groups and tasks; system jobs may have none.
void check_affinities(const DraftBlock& in, bool system_job, Mistakes& out);
void check_spreads(const DraftBlock& in, bool system_job, Mistakes& out);
/// "" or what is wrong with a version constraint such as ">= 1.2, < 2.0".
std::string check_version_constraint(std::string_view text);
std::string check_semver_constraint(std::string_view text);
/// "" or Go's text for a bad regular expression.
std::string check_regular_expression(std::string_view text);

// policies
Mistakes check_update(const DraftBlock& update);
Mistakes check_restart(const DraftBlock& policy);
Mistakes check_reschedule(const DraftBlock& policy);
Mistakes check_migrate(const DraftBlock& migrate);
Mistakes check_periodic(const DraftBlock& periodic);
Mistakes check_parameterized(const DraftBlock& parameterized);
Mistakes check_scaling(const DraftBlock& group, const DraftBlock& job);

// groups and tasks
Mistakes check_group(const DraftBlock& group,
                     const DraftBlock& job,
                     const ValidateOptions& options);
Mistakes check_volume(const DraftBlock& volume,
                      std::string_view job_type,
                      std::int64_t count,
                      std::int64_t canaries);
Mistakes check_task(const DraftBlock& task,
                    std::string_view job_type,
                    const DraftBlock& group,
                    const ValidateOptions& options);
Mistakes check_template(const DraftBlock& tmpl);
Mistakes check_identity(const DraftBlock& identity, bool is_named);
/// Of a task: the one without a name, and the others.
void check_identities(const DraftBlock& task, Mistakes& out);
Mistakes check_artifact(const DraftBlock& artifact);
Mistakes group_warnings(const DraftBlock& group, bool multiregion);

// networks and services
Mistakes check_networks(const DraftBlock& group);
Mistakes check_service(const DraftBlock& service, const ValidateOptions& options);
Mistakes check_group_services(const DraftBlock& group, const ValidateOptions& options);
/// Providers that the job names and that may be known to servers alone.
void warn_of_providers(const DraftBlock& job, Mistakes& out);
Mistakes check_script_checks(const DraftBlock& group);
/// Adds a warning for each check of the group's or task's own services that runs here, and that
/// Nomad would refuse.
void warn_of_checks(const DraftBlock& owner, Mistakes& out);
Mistakes check_task_services(const DraftBlock& task,
                             const DraftBlock& group,
                             const ValidateOptions& options);
/// "" or the first thing wrong with a connect block by itself.
std::string check_connect(const DraftBlock& connect);
/// "" or the first reason why the job's use of Connect, or of exposed checks, is refused.
std::string check_connect_use(const DraftBlock& job);
std::string check_expose_use(const DraftBlock& job);

// bounds
void check_bounds(const DraftBlock& job, const Bounds& bounds, Mistakes& out);

// support
/// An error for each field that is `$refused` (schema/annotations.capnp), or a warning if those are
/// allowed, and a warning for each that is `$unheeded`, all with the blocks that it stands in. What
/// is empty, or says what holds anyway, is neither. docs/compatibility.md is the table of it.
void check_support(const DraftBlock& job, bool allow_refused, Mistakes& errors, Mistakes& warnings);

/// Whether `path`, taken relative to `prefix` in an allocation's directory, leaves that directory.
bool escapes_allocation(std::string_view prefix, std::string_view path);
/// Go's strconv.Atoi.
bool parse_whole(std::string_view text, std::int64_t& number);
/// Go's strconv.ParseUint; "" or its error.
std::string parse_unsigned(std::string_view text, int base, int bits, std::uint64_t& number);

}  // namespace nomad::jobspec
