// What of a cluster works here, by the tables by which files and requests are read: those of
// docs/compatibility.md. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json/value.hpp>

#include "cli/migrate/cluster.hpp"
#include "cli/output/json_view.hpp"

namespace nomad::cli::migrate {

/// The words of docs/compatibility.md, the worst last.
enum class Verdict : std::uint8_t { works, partly, warning, error };

std::string_view name_of(Verdict verdict);

struct Remark {
  Verdict verdict = Verdict::works;
  std::string text;  ///< Names fields and keys, never what they are set to.

  friend bool operator==(const Remark&, const Remark&) = default;
};

struct Judged {
  std::string kind;  ///< "job", "ACL policy", "agent"
  std::string ns;    ///< "": of none.
  std::string name;
  std::vector<Remark> remarks;

  /// The worst of its remarks.
  Verdict verdict() const;
};

/// What jobs find in their cluster.
struct Surroundings {
  bool memory_oversubscription = false;  ///< Tasks may use more memory than they reserve.
};

/// A job in the API's form, as `/v1/job/x` answers.
std::vector<Remark> judge_job(const boost::json::value& job, const Surroundings& at = {});

/// The settings that an agent tells by `/v1/agent/self`. A value that Nomad fills in is not told
/// from one that is set, and counts as not set.
std::vector<Remark> judge_agent(const View& self);

std::vector<Remark> judge_namespace(const boost::json::value& ns);
std::vector<Remark> judge_node_pool(const boost::json::value& pool);
std::vector<Remark> judge_policy(const boost::json::value& policy);
std::vector<Remark> judge_scheduler(const boost::json::value& configuration);

/// All that was read, kind by kind.
std::vector<Judged> judge(const Cluster& cluster);

/// What could not be read, and why: "ACL policies: Unexpected response code: 403 (…)".
std::vector<std::string> unread_of(const Cluster& cluster);

/// Why a variable of that namespace would be refused; "": it would not.
std::string why_no_home(const Listing& namespaces, std::string_view ns);

/// A text of several lines as one, safe for terminals.
std::string without_breaks(std::string_view text);

/// Whether a value is one that says nothing: null, "", 0, false, or without elements.
bool says_nothing(const boost::json::value& value);

}  // namespace nomad::cli::migrate
