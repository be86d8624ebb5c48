// operator client-state: what a stopped client remembers of its allocations.
#include <filesystem>
#include <iostream>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/api.hpp"
#include "cli/arguments.hpp"
#include "cli/run.hpp"
#include "runtime/object/json_codec.hpp"
#include "runtime/object/object.hpp"
#include "runtime/storage/client_store.hpp"
#include "runtime/storage/data_dir_lock.hpp"
#include "schema/alloc.capnp.h"
#include "schema/client.capnp.h"

namespace nomad::cli {
namespace {

using storage::Bucket;

/// The file below a data directory, or below the client's own.
Result<std::string> client_file(const std::string& path) {
  for (const auto* below : {"/client/state.db", "/state.db"}) {
    std::error_code failure;
    if (std::filesystem::exists(path + below, failure)) return path + below;
  }
  return mistake(
      fmt::format("failed to open client state: there is no state.db in \"{}\"; expected "
                  "the data directory of a client",
                  path));
}

/// Of a task, what servers are told of it. What it was given stays where it is: secrets are among
/// it.
Result<boost::json::object> remembered_task(std::string_view bytes) {
  const auto task
      = NOMAD_TRY(Object<schema::LocalTask>::from_bytes(std::as_bytes(std::span{bytes})));
  return boost::json::object{{"LocalState", {{"RunComplete", task->getRunComplete()}}},
                             {"RemoteState", NOMAD_TRY(parse_json(to_json(task->getState())))}};
}

/// Allocations as the API shows them, with their tasks.
Result<boost::json::object> remembered(storage::ClientStore& store) {
  boost::json::object allocs;
  NOMAD_TRY(store.scan(
      Bucket::alloc, "",
      [&](std::string_view key, const Result<std::string_view>& value) -> Result<> {
        if (!value) return value.error().within(key);
        const auto bytes = *value;
        const auto alloc = NOMAD_TRY(
            Object<schema::Allocation>::from_bytes(std::as_bytes(std::span{bytes})).within(key));
        allocs[boost::json::string_view{key.data(), key.size()}]
            = boost::json::object{{"Alloc", NOMAD_TRY(parse_json(to_json(alloc.reader())))},
                                  {"DeployStatus", nullptr},
                                  {"Tasks", boost::json::object{}}};
        return {};
      }));
  NOMAD_TRY(store.scan(
      Bucket::task_state, "",
      [&](std::string_view key, const Result<std::string_view>& value) -> Result<> {
        if (!value) return value.error().within(key);
        const auto slash = key.find('/');
        auto* const alloc = allocs.if_contains({key.data(), std::min(slash, key.size())});
        if (alloc == nullptr || slash == key.npos) return {};
        const auto task = key.substr(slash + 1);
        alloc->as_object()["Tasks"].as_object()[{task.data(), task.size()}]
            = NOMAD_TRY(remembered_task(*value).within(key));
        return {};
      }));
  return allocs;
}

}  // namespace

Result<int> run_operator_client_state(const std::vector<std::string>& arguments) {
  Arguments parser{"operator client-state <path to data dir>",
                   "Prints what a stopped client remembers of its allocations, as JSON."};
  const WordCount one{1, 1, "This command takes one argument: <nomad-data-dir>"};
  if (auto code = parser.parse(arguments, one)) return *code;
  const auto path = NOMAD_TRY(client_file(parser.positional()[0]));
  const auto whole = std::filesystem::path{path}.parent_path();
  const bool is_below = whole.filename() == "client";
  auto lock
      = NOMAD_TRY(storage::DataDirLock::take((is_below ? whole.parent_path() : whole).string()));
  auto store = NOMAD_TRY(storage::ClientStore::open(path).within("failed to open client state"));
  const auto allocs = NOMAD_TRY(remembered(store).within("failed to get allocations"));
  std::cout << boost::json::serialize(boost::json::object{{"Allocations", allocs}}) << '\n';
  return 0;
}

}  // namespace nomad::cli
