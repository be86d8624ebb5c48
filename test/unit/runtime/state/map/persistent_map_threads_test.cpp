// Readers copy, walk and drop copies of a map while one writer changes it. Run it under TSan.
#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "runtime/base/random.hpp"
#include "runtime/state/map/persistent_map.hpp"

using nomad::Random;
using nomad::state::PersistentMap;

namespace {

using TextMap = PersistentMap<std::shared_ptr<const std::string>>;

class Published {
public:
  TextMap get() {
    const std::lock_guard lock{mutex_};
    return map_;
  }

  void set(TextMap map) {
    const std::lock_guard lock{mutex_};
    std::swap(map_, map);
  }

private:
  std::mutex mutex_;
  TextMap map_;
};

/// Every published map has an even number of entries, each value its key.
bool is_consistent(const TextMap& map) {
  std::size_t count = 0;
  for (const auto& entry : map.all()) {
    if (*entry.value() != entry.key()) return false;
    ++count;
  }
  return count == map.size() && count % 2 == 0;
}

}  // namespace

TEST_CASE("PersistentMap: readers on other threads see whole published states") {
  Published published;
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::atomic<int> reads{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i)
    readers.emplace_back([&] {
      std::vector<TextMap> kept;
      while (!stop) {
        kept.push_back(published.get());
        if (!is_consistent(kept.back())) ++wrong;
        ++reads;
        if (kept.size() > 4) kept.erase(kept.begin());
      }
    });

  Random random{42};
  TextMap map;
  for (int batch = 0; batch < 400 || reads < 50; ++batch) {
    for (int i = 0; i < 10; ++i) {
      const std::string base = std::to_string(random.below(400));
      for (const std::string& key : {base + "-a", base + "-b"}) {
        if (batch % 3 == 0)
          map.erase(key);
        else
          map.insert_or_assign(key, std::make_shared<const std::string>(key));
      }
    }
    published.set(map);
  }
  stop = true;
  for (auto& reader : readers)
    reader.join();

  CHECK(wrong == 0);
}
