// Where the functions of a template get what is not in the template: services and variables of the
// cluster, files of the task, its environment, the clock.
//
// An implementation answers at once from what it has. What it has not heard of yet it answers by
// nothing, and sees to it that it comes; the template is rendered again then. Each question is
// recorded (`Dependencies`), with whether it was answered, so that who renders knows what to watch
// and what is missing.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/base/result.hpp"

namespace nomad::templates {

/// {{ nomadServices }}: all services of the task's namespace.
struct ServicesQuery {
  std::string region{};  ///< Empty: the task's.

  auto operator<=>(const ServicesQuery&) const = default;
};

/// {{ nomadService "TAG.NAME@REGION" }}, {{ nomadService COUNT KEY "NAME" }}.
struct ServiceQuery {
  std::string name;
  std::string tag{};     ///< Empty: any.
  std::string region{};  ///< Empty: the task's.
  /// "COUNT|KEY": so many of the instances, the same ones for the same key; empty: all.
  std::string choose{};

  auto operator<=>(const ServiceQuery&) const = default;
};

/// {{ nomadVar "PATH@NAMESPACE.REGION" }}
struct VariableQuery {
  std::string path;
  std::string name_space{};  ///< Empty: "default".
  std::string region{};      ///< Empty: the task's.
  /// Whether the template waits for the variable to exist, rather than being told that it does not.
  bool waits = false;

  auto operator<=>(const VariableQuery&) const = default;
};

/// {{ nomadVarList "PREFIX@NAMESPACE.REGION" }}
struct VariableListQuery {
  std::string prefix{};
  std::string name_space{};
  std::string region{};

  auto operator<=>(const VariableListQuery&) const = default;
};

/// {{ file "PATH" }}
struct FileQuery {
  std::string path;

  auto operator<=>(const FileQuery&) const = default;
};

using Query
    = std::variant<ServicesQuery, ServiceQuery, VariableQuery, VariableListQuery, FileQuery>;

/// As task events name it: "nomad.var.block(app/config@default.global)", "nomad.service(db)".
std::string to_string(const Query& query);

struct ServiceName {
  std::string name;
  std::vector<std::string> tags{};
};

struct ServiceInstance {
  std::string id;
  std::string name;
  std::string node;
  std::string address;
  std::int64_t port = 0;
  std::string datacenter{};
  std::vector<std::string> tags{};
  std::string job_id{};
  std::string alloc_id{};
};

/// A variable without its items.
struct VariableMeta {
  std::string name_space;
  std::string path;
  std::uint64_t create_index = 0;
  std::uint64_t modify_index = 0;
  std::int64_t create_time = 0;  ///< Unix nanoseconds.
  std::int64_t modify_time = 0;  ///< Unix nanoseconds.
};

struct Variable {
  VariableMeta meta;
  std::map<std::string, std::string> items;
};

class Sources {
public:
  virtual ~Sources() = default;

  // Nothing where the answer is not known yet.

  virtual std::optional<std::vector<ServiceName>> services(const ServicesQuery& query) = 0;
  /// As many as `query` chooses, in the order in which they are shown.
  virtual std::optional<std::vector<ServiceInstance>> service(const ServiceQuery& query) = 0;
  /// A variable that is known not to exist is one inner nothing.
  virtual std::optional<std::optional<Variable>> variable(const VariableQuery& query) = 0;
  virtual std::optional<std::vector<VariableMeta>> variables(const VariableListQuery& query) = 0;
  /// Fails where the file is outside of the sandbox, or can't be read.
  virtual Result<std::optional<std::string>> file(const FileQuery& query) = 0;

  /// Of the task; nothing where there is no such variable.
  virtual std::optional<std::string> environment(std::string_view name) = 0;
  /// Unix nanoseconds.
  virtual std::int64_t now() = 0;
  /// An address of this machine by a template of go-sockaddr: "{{ GetPrivateIP }}".
  virtual Result<std::string> address(std::string_view text) = 0;
  /// `bytes` bytes that nobody can guess.
  virtual std::string random(std::size_t bytes) = 0;
};

/// What a rendering has asked for.
struct Dependencies {
  /// Whether each query was answered.
  std::map<Query, bool> asked;

  /// In the order of their names.
  std::vector<std::string> missing() const;

  /// The first variable that is waited for to exist.
  std::optional<VariableQuery> awaited_variable() const;
};

}  // namespace nomad::templates
