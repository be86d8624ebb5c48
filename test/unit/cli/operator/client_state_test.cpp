// What operator client-state reads of a client that does not run.
#include <filesystem>

#include <boost/json.hpp>
#include <doctest/doctest.h>

#include "cli/run.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/storage/client_store.hpp"
#include "schema/alloc.capnp.h"
#include "schema/client.capnp.h"
#include "test/support/temp_dir.hpp"
#include "test/unit/cli/capture.hpp"

using namespace nomad;
using storage::Bucket;

namespace {

template <class T>
std::string bytes_of(const Object<T>& object) {
  const auto bytes = object.bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// The data directory of a client.
struct ClientFiles {
  test::TempDir dir;
  std::string out;

  void write(Bucket bucket, std::string key, std::string value) {
    std::filesystem::create_directories(dir.file("client"));
    auto store = storage::ClientStore::open(dir.file("client/state.db"));
    REQUIRE(store.has_value());
    storage::ClientBatch batch;
    batch.put(bucket, std::move(key), std::move(value));
    REQUIRE(store->commit(batch).has_value());
  }

  void write_alloc() {
    Draft<schema::Allocation> alloc;
    alloc->setId("a1");
    alloc->setJobId("web");
    write(Bucket::alloc, "a1", bytes_of(alloc.freeze()));
  }

  Result<int> show(const std::string& path) {
    const test::Capture printed;
    auto code = cli::run_operator_client_state({path});
    out = printed.out();
    return code;
  }
};

}  // namespace

TEST_CASE_FIXTURE(ClientFiles, "client-state: shows allocations with what their tasks reported") {
  write_alloc();
  Draft<schema::LocalTask> task;
  task->initState().setRestarts(3);
  task->setHandle("secret");
  task->setRunComplete(true);
  write(Bucket::task_state, "a1/server", bytes_of(task.freeze()));
  for (const auto* below : {"", "client"}) {
    CAPTURE(below);
    REQUIRE(show(dir.file(below)).value() == 0);
    const auto alloc = boost::json::parse(out).at("Allocations").at("a1");
    CHECK(alloc.at("Alloc").at("JobID") == "web");
    const auto& shown = alloc.at("Tasks").at("server");
    CHECK(shown.at("RemoteState").at("Restarts") == 3);
    CHECK(shown.at("LocalState").at("RunComplete") == true);
    CHECK(out.find("secret") == std::string::npos);
  }
}

TEST_CASE_FIXTURE(ClientFiles, "client-state: names the row that cannot be read") {
  write(Bucket::alloc, "a2", "x");
  CHECK(show(dir.file("")).error().what.starts_with("failed to get allocations: a2: "));
  CHECK(out.empty());
}
