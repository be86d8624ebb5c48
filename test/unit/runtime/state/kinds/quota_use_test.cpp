// Quotas: what namespaces take of theirs, and what is refused.
#include "runtime/state/kinds/quota_use.hpp"

#include "../fixture.hpp"

using namespace nomad;
using namespace nomad::state;

namespace {

struct QuotaFixture : StateFixture {
  QuotaFixture() { register_job({.groups = {{"api", 5}}}); }

  Outcome put_quota(std::string_view name, std::int64_t variables = 0) {
    return run([&](auto command) {
      auto quota = command.initQuotaUpsert();
      quota.setName(text(name));
      auto limit = quota.initLimits(1)[0];
      limit.setRegion("global");
      limit.setVariablesLimit(variables);
    });
  }

  Outcome put_namespace(std::string_view name, std::string_view quota) {
    return run([&](auto command) {
      auto ns = command.initNamespaceUpsert();
      ns.setName(text(name));
      ns.setQuota(text(quota));
    });
  }

  /// "allocations cpu memory", or "none".
  std::string use(std::string_view quota) const {
    const auto use = now().quota_use(quota);
    if (use == QuotaUse{}) return "none";
    return std::to_string(use.allocations) + ' ' + std::to_string(use.demand.cpu_mhz) + ' '
           + std::to_string(use.demand.memory_mb);
  }

  Outcome put_variable(const char* path, unsigned bytes, const char* region = "global") {
    return run([&](auto command) {
      auto apply = command.initVariableApply();
      apply.setRegion(region);
      auto variable = apply.initVariable();
      variable.setNamespace("default");
      variable.setPath(path);
      variable.setKeyId("key");
      variable.initData(bytes);
    });
  }
};

std::string text_of(const Outcome& outcome) {
  return outcome.error ? outcome.error->what : "";
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE_FIXTURE(QuotaFixture,
                  "quota: a namespace names one that is there, and it stays as long") {
  CHECK(text_of(put_namespace("default", "small"))
        == "namespace \"default\" names quota \"small\", which does not exist");
  CHECK_FALSE(put_quota("small").error);
  CHECK_FALSE(put_namespace("default", "small").error);
  const auto remove
      = [&] { return text_of(run([](auto command) { command.setQuotaDelete("small"); })); };
  CHECK(remove() == "quota \"small\" is in use by namespaces");
  put_namespace("default", "");
  CHECK(remove() == "");
  CHECK(remove() == "quota not found");
}

TEST_CASE_FIXTURE(QuotaFixture, "quota: an allocation counts until it ends or is told to") {
  put_quota("small");
  put_namespace("default", "small");
  CHECK(use("small") == "none");
  CHECK(place({{.id = "a"}, {.id = "b"}, {.id = "c", .cpu = 50}}).quotas_opened.empty());
  CHECK(use("small") == "3 250 768");

  CHECK(stop("a").quotas_opened == Names{"small"});
  CHECK(report("b", schema::ClientStatus::RUNNING).quotas_opened.empty());
  CHECK(use("small") == "2 150 512");
  CHECK(report("b", schema::ClientStatus::FAILED).quotas_opened == Names{"small"});
  CHECK(report("a", schema::ClientStatus::COMPLETE).quotas_opened.empty());
  CHECK(use("small") == "1 50 256");
  stop("c");
  CHECK(use("small") == "none");
}

TEST_CASE_FIXTURE(QuotaFixture, "quota: a namespace takes what it has along to another one") {
  put_quota("small");
  put_quota("large");
  place({{.id = "a"}, {.id = "b"}});
  CHECK(put_namespace("default", "small").quotas_opened.empty());
  CHECK(use("small") == "2 200 512");
  CHECK(put_namespace("default", "large").quotas_opened == Names{"small"});
  CHECK(use("small") == "none");
  CHECK(use("large") == "2 200 512");
  CHECK(put_quota("large").quotas_opened == Names{"large"});
  put_namespace("default", "");
  CHECK(use("large") == "none");
  stop("a");
  CHECK(use("large") == "none");
}

TEST_CASE_FIXTURE(QuotaFixture, "quota: who waits for the use of one hears of each change") {
  put_quota("small");
  put_namespace("default", "small");
  bool heard = false;
  const auto watch = [&] {
    heard = false;
    return store.watches().subscribe({watch_key(Table::quota_use, "small")},
                                     [&heard] { heard = true; });
  };
  auto subscription = watch();
  place({{.id = "a"}});
  CHECK(heard);
  subscription = watch();
  report("a", schema::ClientStatus::RUNNING);
  CHECK_FALSE(heard);
  report("a", schema::ClientStatus::COMPLETE);
  CHECK(heard);
}

TEST_CASE_FIXTURE(QuotaFixture, "quota: variables take what they take as they are stored") {
  run([](auto command) {
    auto key = command.initRootKeyUpsert().initKey();
    key.setKeyId("key");
    key.setState(schema::RootKeyState::ACTIVE);
  });
  put_quota("small", 1);
  put_namespace("default", "small");
  CHECK_FALSE(put_variable("a", 1'000'000).error);
  CHECK(text_of(put_variable("b", 48'577))
        == "quota exceeded: the variables of quota \"small\" would take 1048577 bytes of 1048576");
  CHECK_FALSE(put_variable("b", 48'576).error);
  CHECK(now().quota_variable_bytes("small") == 1'048'576);
  CHECK(put_variable("a", 1'000'001).error);
  CHECK_FALSE(put_variable("a", 999'999).error);
  CHECK_FALSE(put_variable("c", 1).error);

  // Nothing at all may be kept; what is there may get shorter, and go.
  put_quota("small", -1);
  CHECK_FALSE(put_variable("a", 10).error);
  CHECK(put_variable("a", 11).error);
  CHECK_FALSE(put_variable("a", 100, "elsewhere").error);
  CHECK_FALSE(put_variable("a", 200, "").error);

  // Nor of a quota that has not been copied to this region yet.
  Draft<schema::Namespace> ns;
  ns->setName("default");
  ns->setQuota("late");
  const auto copied = ns.freeze();
  run([&](auto command) {
    auto rows = command.initSharedRows();
    rows.setKind("namespaces");
    rows.initRows(1).set(
        0, {reinterpret_cast<const unsigned char*>(copied.bytes().data()), copied.bytes().size()});
  });
  CHECK(text_of(put_variable("a", 201))
        == "quota exceeded: quota \"late\" is not known in this region");
  CHECK_FALSE(put_variable("a", 199).error);
}
