#include "runtime/plugin/found_devices.hpp"

#include <functional>

#include <doctest/doctest.h>

#include "runtime/object/draft.hpp"
#include "runtime/object/entries.hpp"
#include "runtime/plugin/said.hpp"

using namespace nomad;

namespace {

using Found = schema::plugin::Fingerprint;
using Groups = capnp::List<schema::plugin::DeviceGroup>::Builder;

Result<std::vector<host::DeviceGroup>> read(unsigned count,
                                            const std::function<void(Groups)>& change) {
  Draft<Found> draft;
  auto groups = draft->initDevices(count);
  for (unsigned i = 0; i < count; ++i) {
    groups[i].setVendor("acme");
    groups[i].setType("gadget");
    groups[i].setName("g" + std::to_string(i));
    auto instance = groups[i].initInstances(1)[0];
    instance.setId("id");
    instance.setHealthy(true);
  }
  change(groups);
  return plugin::read_devices(draft.reader().getDevices());
}

}  // namespace

TEST_CASE("found devices: groups, their instances, and attributes by their kinds") {
  const auto found = read(2, [](Groups groups) {
    fill_entries(groups[0].initAttributes(2), {{"memory", "11 GiB"}, {"model", "X"}});
    auto instances = groups[1].initInstances(2);
    instances[0].setId("a");
    instances[1].setId("b");
    instances[1].setHealthDescription("too\nhot");
  });
  REQUIRE(found);
  CHECK((*found)[0].attributes == R"({"memory":{"Int":11,"Unit":"GiB"},"model":{"String":"X"}})");
  CHECK((*found)[0].instances[0].healthy);
  CHECK((*found)[1].attributes.empty());
  CHECK((*found)[1].instances[1].health_description == "too hot");
  CHECK(read(0, [](Groups) {})->empty());
}

TEST_CASE("found devices: nonsense is refused, whole") {
  const auto is_refused = [](unsigned count, const std::function<void(Groups)>& change) {
    return !read(count, change).has_value();
  };
  CHECK(is_refused(1, [](Groups groups) { groups[0].setName(""); }));
  CHECK(is_refused(1, [](Groups groups) { groups[0].setVendor("a/b"); }));
  CHECK(is_refused(1, [](Groups groups) { groups[0].setType("a\x1b"); }));
  CHECK(is_refused(2, [](Groups groups) { groups[1].setName("g0"); }));
  CHECK(is_refused(1, [](Groups groups) { groups[0].getInstances()[0].setId(""); }));
  CHECK(is_refused(1, [](Groups groups) {
    for (auto instance : groups[0].initInstances(2))
      instance.setId("same");
  }));
  CHECK(is_refused(plugin::most_device_groups + 1, [](Groups) {}));
  CHECK(is_refused(1, [](Groups groups) {
    auto instances = groups[0].initInstances(plugin::most_devices + 1);
    for (unsigned i = 0; i < instances.size(); ++i)
      instances[i].setId("i" + std::to_string(i));
  }));
  CHECK(is_refused(1, [](Groups groups) {
    groups[0].initAttributes(1)[0].setValue(std::string(plugin::most_attribute_bytes + 1, 'x'));
  }));
}

TEST_CASE("found devices: nonsense is said whole") {
  const auto said = [](unsigned count, const std::function<void(Groups)>& change) {
    return read(count, change).error().what;
  };
  const auto shown
      = "expected 1 to " + std::to_string(plugin::most_name_of_bytes) + " bytes that can be shown";
  CHECK(said(1, [](Groups groups) { groups[0].setVendor("a/b"); })
        == "a group of devices has \"a/b\" for a vendor, type or name: " + shown
               + ", without a slash");
  CHECK(said(2, [](Groups groups) { groups[1].setName("g0"); })
        == "it has found acme/gadget/g0 twice");
  CHECK(said(1, [](Groups groups) { groups[0].getInstances()[0].setId(""); })
        == "a device of acme/gadget/g0 has the id \"\": " + shown);
  CHECK(said(1,
             [](Groups groups) {
               for (auto instance : groups[0].initInstances(2))
                 instance.setId("same");
             })
        == "two devices of acme/gadget/g0 have the id \"same\"");
  CHECK(said(plugin::most_device_groups + 1, [](Groups) {})
        == "it has found more than " + std::to_string(plugin::most_device_groups)
               + " groups of devices");
  CHECK(said(1,
             [](Groups groups) {
               auto instances = groups[0].initInstances(plugin::most_devices + 1);
               for (unsigned i = 0; i < instances.size(); ++i)
                 instances[i].setId("i" + std::to_string(i));
             })
        == "it has found more than " + std::to_string(plugin::most_devices) + " devices");
}
