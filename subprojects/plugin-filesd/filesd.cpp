// A provider of services: those of jobs that name it stand in a file as Prometheus reads it
// (file_sd_configs), and whether their checks pass is a label:
//
//     service { provider = "filesd"  name = "web"  port = "http" }
//
// The file is written a moment after a change, so that what begins together, or is told again to a
// new process, comes in one piece; what is asked is answered when it is written.
#include <cstdio>
#include <fstream>

#include <nomadctl/plugin/plugin.hpp>

using namespace nomad;
using namespace nomad::plugin;

namespace {

std::string file_path;

std::string quoted(const std::string& text) {
  std::string made = "\"";
  for (const char sign : text) {
    if (sign == '"' || sign == '\\') made += '\\';
    made += static_cast<unsigned char>(sign) < 0x20 ? ' ' : sign;
  }
  return made + '"';
}

class FileProvider final : public ServiceProvider {
public:
  explicit FileProvider(Agent& agent) : agent_{agent} {}

  void register_services(const std::vector<Service>& services, const DoneReply& reply) override {
    for (const auto& service : services)
      services_[service.id] = service;
    write_soon(reply);
  }

  void deregister_services(const std::vector<std::string>& ids, const DoneReply& reply) override {
    for (const auto& id : ids)
      services_.erase(id);
    write_soon(reply);
  }

  void checks_changed(const std::string& alloc_id,
                      const std::vector<ServiceCheck>& checks) override {
    auto& of_alloc = passing_[alloc_id];
    of_alloc.clear();
    for (const auto& check : checks) {
      auto& passes = of_alloc.try_emplace({check.task, check.service}, true).first->second;
      passes = passes && check.status == ServiceCheck::Status::passing;
    }
    write_soon({});
  }

private:
  void write_soon(std::optional<DoneReply> reply) {
    if (reply) waiting_.push_back(*reply);
    if (std::exchange(is_due_, true)) return;
    agent_.after(std::chrono::milliseconds{300}, [this] {
      is_due_ = false;
      const auto written = write();
      if (!written) agent_.log(Level::error, written.error().what);
      for (const auto& each : std::exchange(waiting_, {}))
        each(written);
    });
  }

  std::string health_of(const Service& service) const {
    const auto of_alloc = passing_.find(service.alloc_id);
    if (of_alloc == passing_.end()) return "unchecked";
    const auto found = of_alloc->second.find({service.task, service.name});
    if (found == of_alloc->second.end()) return "unchecked";
    return found->second ? "passing" : "failing";
  }

  /// Whole or not at all: whoever reads it meanwhile has the old one.
  Result<> write() {
    std::erase_if(passing_, [this](const auto& each) {
      for (const auto& [id, service] : services_)
        if (service.alloc_id == each.first) return false;
      return true;
    });
    const auto next = file_path + ".next";
    std::ofstream file{next};
    file << '[';
    const char* separator = "\n";
    for (const auto& [id, service] : services_) {
      std::string tags = ",";
      for (const auto& tag : service.tags)
        tags += tag + ',';
      file << std::exchange(separator, ",\n") << R"({"targets":[)"
           << quoted(service.address + ':' + std::to_string(service.port))
           << R"(],"labels":{"service":)" << quoted(service.name) << R"(,"namespace":)"
           << quoted(service.job_namespace) << R"(,"nomad_job":)" << quoted(service.job_id)
           << R"(,"alloc_id":)" << quoted(service.alloc_id) << R"(,"tags":)" << quoted(tags)
           << R"(,"health":)" << quoted(health_of(service)) << "}}";
    }
    file << "\n]\n";
    file.close();
    if (!file || std::rename(next.c_str(), file_path.c_str()) != 0)
      return Error{Errc::io, "can't write " + file_path};
    return {};
  }

  Agent& agent_;
  std::map<std::string, Service> services_;  ///< By id.
  /// By allocation; then whether all checks of a task's (or the group's) service pass.
  std::map<std::string, std::map<std::pair<std::string, std::string>, bool>> passing_;
  std::vector<DoneReply> waiting_;
  bool is_due_ = false;
};

}  // namespace

void describe(Plugin& plugin) {
  plugin.is("filesd", "1.0.0");
  plugin.config({{.name = "file", .required = true}});
  plugin.on_configure([](const Config& config) -> Result<> {
    file_path = config.text("file");
    if (!file_path.starts_with('/'))
      return Error{Errc::invalid_argument, "file: an absolute path is expected"};
    return {};
  });
  plugin.service_provider({.name = "filesd", .hears_checks = true},
                          [](Agent& agent) { return std::make_unique<FileProvider>(agent); });
}

NOMADCTL_PLUGIN(describe)
