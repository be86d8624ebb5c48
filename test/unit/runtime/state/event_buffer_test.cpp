#include "runtime/state/event_buffer.hpp"

#include <atomic>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include "runtime/base/result.hpp"

namespace {

/// In one text.
struct Joined {
  std::string all;

  explicit Joined(const std::vector<std::string>& events) {
    for (const auto& event : events)
      all += event + '|';
  }

  Joined denser() const { return *this; }

  nomad::Result<std::vector<std::string>> unpack() const {
    if (all.find('?') != std::string::npos) return nomad::Error{nomad::Errc::corrupt, "?"};
    std::vector<std::string> events;
    for (std::size_t at = 0; at < all.size(); at = all.find('|', at) + 1)
      events.push_back(all.substr(at, all.find('|', at) - at));
    return events;
  }
};

using Buffer = nomad::state::EventBuffer<std::string, Joined>;

std::string indexes(const std::optional<Buffer::Page>& page) {
  if (!page) return "lost";
  std::string joined;
  for (const auto& batch : page->batches)
    joined += std::to_string(batch->index) + " ";
  return joined;
}

}  // namespace

TEST_CASE("EventBuffer: a reader follows from an index, page by page") {
  Buffer buffer{10};
  for (std::uint64_t index : {3, 5, 8})
    buffer.append(index, {"event"});

  const auto page = buffer.read_after(buffer.start_at(0), 2);
  CHECK(indexes(page) == "3 5 ");
  CHECK(page->next_after == 5);
  CHECK(indexes(buffer.read_after(5, 2)) == "8 ");
  CHECK(indexes(buffer.read_after(8, 2)).empty());
  CHECK(indexes(buffer.read_after(buffer.start_at(5), 9)) == "5 8 ");
  CHECK(indexes(buffer.read_after(buffer.start_at(6), 9)) == "8 ");
  CHECK(buffer.end() == 8);
}

TEST_CASE("EventBuffer: a reader that fell behind is told, a new one gets the closest") {
  Buffer buffer{2};
  for (std::uint64_t index : {3, 5, 8})
    buffer.append(index, {"event"});

  CHECK(indexes(buffer.read_after(2, 9)) == "lost");
  CHECK(indexes(buffer.read_after(3, 9)) == "5 8 ");
  CHECK(indexes(buffer.read_after(buffer.start_at(1), 9)) == "5 8 ");

  buffer.reset(20);
  CHECK(indexes(buffer.read_after(8, 9)) == "lost");
  CHECK(buffer.end() == 20);
  buffer.append(21, {"event"});
  CHECK(indexes(buffer.read_after(20, 9)) == "21 ");
}

TEST_CASE("EventBuffer: large batches leave early, the newest never") {
  Buffer buffer{100, 10};
  for (std::uint64_t index : {3, 5, 8})
    buffer.append(index, {"event"}, 4);
  CHECK(indexes(buffer.read_after(2, 9)) == "lost");
  CHECK(indexes(buffer.read_after(3, 9)) == "5 8 ");

  buffer.append(9, {"event"}, 1000);
  CHECK(indexes(buffer.read_after(8, 9)) == "9 ");
  CHECK(indexes(buffer.read_after(5, 9)) == "lost");

  buffer.append(10, {"event"}, 4);
  buffer.append(11, {"event"}, 4);
  CHECK(indexes(buffer.read_after(9, 9)) == "10 11 ");
}

TEST_CASE("EventBuffer: readers see no difference when batches are packed") {
  Buffer buffer{3};
  buffer.append(3, {"a", "b"}, Buffer::least_packed);
  buffer.append(5, {"small"}, 10);
  buffer.append(8, {"?"}, Buffer::least_packed);
  auto held = buffer.read_after(0, 1)->batches.front();
  CHECK(buffer.read_after(0, 1)->batches.front() == held);  // Readers share it.
  buffer.pack();

  CHECK(held->events == std::vector<std::string>{"a", "b"});
  held = {};
  const auto page = buffer.read_after(0, 2);
  CHECK(indexes(page) == "3 5 ");
  CHECK(page->batches[0]->events == std::vector<std::string>{"a", "b"});
  CHECK(page->batches[1]->events == std::vector<std::string>{"small"});
  CHECK(page->next_after == 5);
  CHECK(indexes(buffer.read_after(5, 9)) == "lost");  // It can't be read back.
  buffer.append(9, {"new"}, Buffer::least_packed);
  buffer.pack();
  CHECK(indexes(buffer.read_after(0, 9)) == "lost");
  CHECK(buffer.read_after(8, 9)->batches[0]->events == std::vector<std::string>{"new"});
}

TEST_CASE("EventBuffer: waiters are called once, when there is something for them") {
  Buffer buffer{2};
  buffer.append(3, {"event"});
  int called = 0;
  CHECK(buffer.wait(2, [&] { ++called; }) == 0);
  CHECK(called == 1);

  buffer.wait(3, [&] { called += 10; });
  const auto forgotten = buffer.wait(3, [&] { called += 100; });
  buffer.forget(forgotten);
  CHECK(called == 1);
  buffer.append(4, {"event"});
  buffer.append(5, {"event"});
  CHECK(called == 11);

  buffer.wait(5, [&] { called += 1000; });
  buffer.reset(9);
  CHECK(called == 1011);
}

TEST_CASE("EventBuffer: readers on other threads see every batch in order or learn of the loss") {
  Buffer buffer{50};
  std::atomic<int> wrong{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i)
    readers.emplace_back([&] {
      std::uint64_t after = 0;
      while (after < 2000) {
        const auto page = buffer.read_after(after, 7);
        if (!page) {
          after = buffer.start_at(0);
          continue;
        }
        for (const auto& batch : page->batches) {
          if (batch->index != after + 1) ++wrong;
          after = batch->index;
        }
        if (page->batches.empty()) std::this_thread::yield();
      }
    });
  for (std::uint64_t index = 1; index <= 2000; ++index)
    buffer.append(index, {"event"});
  for (auto& reader : readers)
    reader.join();

  CHECK(wrong == 0);
}
