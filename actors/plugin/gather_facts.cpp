#include "actors/plugin/gather_facts.hpp"

#include "runtime/base/log.hpp"
#include "runtime/object/draft.hpp"
#include "runtime/plugin/found_devices.hpp"
#include "runtime/plugin/said.hpp"

namespace nomad::plugin {

void gather_facts(Questions& questions,
                  const std::shared_ptr<PluginFacts>& facts,
                  const std::string& plugin,
                  const std::string& fingerprinter,
                  const std::function<void()>& then) {
  const auto failed = [plugin, fingerprinter](const Error& err) {
    log::warn("plugin", "a fingerprint failed",
              {{"plugin", plugin}, {"fingerprint", fingerprinter}, {"error", err}});
  };
  questions.ask(
      [&](schema::plugin::Frame::Builder frame) { frame.setGatherFacts(text(fingerprinter)); },
      [facts, then, failed, fingerprinter](schema::plugin::Frame::Reader frame) {
        then();
        if (!frame.isFacts()) return failed({Errc::corrupt, "it answered something else"});
        auto attributes = read_facts(frame.getFacts().getAttributes());
        if (!attributes) return failed(attributes.error());
        auto devices = read_devices(frame.getFacts().getDevices());
        if (!devices) return failed(devices.error());
        facts->set(fingerprinter, {std::move(*attributes), std::move(*devices)});
      },
      [then, failed](const Error& err) {
        then();
        failed(err);
      });
}

}  // namespace nomad::plugin
