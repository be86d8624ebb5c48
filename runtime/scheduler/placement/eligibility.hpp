// Eligibility: what is known about computed node classes during one evaluation. A class found
// (in)eligible once is not checked again; a blocked evaluation carries the knowledge along.
//
// May depend on: the standard library. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace nomad::scheduler {

enum class ClassState : std::uint8_t { unknown, eligible, ineligible, escaped };

class Eligibility {
public:
  /// `escapes`: the job's own constraints look at facts outside the class.
  void set_job(bool escapes) { job_escapes_ = escapes; }

  void set_group(std::string_view group, bool escapes) {
    groups_[std::string{group}].escapes = escapes;
  }

  /// Some group asks for volumes of CSI, which are looked at on each node.
  void set_wants_volumes() { wants_volumes_ = true; }

  bool wants_volumes() const { return wants_volumes_; }

  ClassState job_state(std::string_view node_class) const {
    if (job_escapes_ || node_class.empty()) return ClassState::escaped;
    return find(job_, node_class);
  }

  ClassState group_state(std::string_view group, std::string_view node_class) const {
    const auto known = groups_.find(group);
    if (known == groups_.end()) return ClassState::unknown;
    if (known->second.escapes || node_class.empty()) return ClassState::escaped;
    return find(known->second.classes, node_class);
  }

  void record_job(std::string_view node_class, bool eligible) {
    if (!job_escapes_ && !node_class.empty()) job_.emplace(node_class, eligible);
  }

  void record_group(std::string_view group, std::string_view node_class, bool eligible) {
    auto& known = groups_[std::string{group}];
    if (!known.escapes && !node_class.empty()) known.classes.emplace(node_class, eligible);
  }

  bool has_escaped() const {
    for (const auto& [name, group] : groups_) {
      if (group.escapes) return true;
    }
    return job_escapes_;
  }

  /// Each class met: true if one of these groups may run on it, false if none of them may. One that
  /// was not tried there may.
  std::map<std::string, bool> classes(const std::vector<std::string_view>& groups) const {
    std::map<std::string, bool> result;
    std::map<std::string, std::size_t> tried;
    for (const auto name : groups) {
      const auto group = groups_.find(name);
      if (group == groups_.end()) continue;
      for (const auto& [node_class, eligible] : group->second.classes) {
        result[node_class] |= eligible;
        ++tried[node_class];
      }
    }
    std::erase_if(result, [&](const auto& known) {
      return !known.second && tried[known.first] < groups.size();
    });
    for (const auto& [node_class, eligible] : job_) {
      if (eligible)
        result.emplace(node_class, true);
      else
        result[node_class] = false;
    }
    return result;
  }

private:
  using Classes = std::map<std::string, bool, std::less<>>;

  struct Group {
    bool escapes = false;
    Classes classes;
  };

  static ClassState find(const Classes& classes, std::string_view node_class) {
    const auto known = classes.find(node_class);
    if (known == classes.end()) return ClassState::unknown;
    return known->second ? ClassState::eligible : ClassState::ineligible;
  }

  bool job_escapes_ = false;
  bool wants_volumes_ = false;
  Classes job_;
  std::map<std::string, Group, std::less<>> groups_;
};

}  // namespace nomad::scheduler
