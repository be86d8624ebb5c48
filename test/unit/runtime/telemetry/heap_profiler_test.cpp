#include "runtime/telemetry/heap_profiler.hpp"

#include <algorithm>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "runtime/base/random.hpp"
#include "runtime/telemetry/cpu_profiler.hpp"

using namespace nomad;
using namespace nomad::telemetry;

namespace {

/// Addresses of code that is nobody's.
std::vector<void*> stack_of(std::initializer_list<std::uintptr_t> frames) {
  std::vector<void*> stack;
  for (const auto frame : frames)
    stack.push_back(reinterpret_cast<void*>(frame));  // NOLINT(performance-no-int-to-ptr)
  return stack;
}

constexpr std::uintptr_t page_of(std::uint64_t number) {
  return (number + 1) * 4'096;
}

}  // namespace

TEST_CASE("heap profiler: what came and went is counted where it was asked for") {
  const auto samples = std::make_unique<HeapSamples>();
  const auto here = stack_of({0x101, 0x201});
  const auto there = stack_of({0x102, 0x201});
  CHECK(samples->came(page_of(1), 100, here));
  CHECK(samples->came(page_of(2), 50, here));
  CHECK(samples->came(page_of(3), 7, there));
  samples->went(page_of(1));
  samples->went(page_of(1));  // it is none any more
  samples->went(page_of(9));

  const auto all = samples->all();
  REQUIRE(all.size() == 2);
  CHECK(all[0].stack == std::vector<std::uint64_t>{0x100, 0x200});  // the calls themselves
  CHECK(all[0].allocs == 2);
  CHECK(all[0].alloc_bytes == 150);
  CHECK(all[0].live == 1);
  CHECK(all[0].live_bytes == 50);
  CHECK(all[1].alloc_bytes == 7);

  CHECK(samples->came(page_of(1), 1, there));  // the same address again
  CHECK(samples->all()[1].live == 2);
}

TEST_CASE("heap profiler: tables that are full leave out what comes, and lose nothing else") {
  const auto samples = std::make_unique<HeapSamples>();
  const auto stack = stack_of({0x101});
  std::uint64_t taken = 0;
  for (std::uint64_t i = 0; i < 3 * HeapSamples::most_pieces; ++i)
    taken += samples->came(page_of(i), 1, stack) ? 1 : 0;
  CHECK(taken <= HeapSamples::most_pieces);
  CHECK(taken > HeapSamples::most_pieces / 2);
  CHECK(samples->all().front().live == taken);
  for (std::uint64_t i = 0; i < 3 * HeapSamples::most_pieces; ++i)
    samples->went(page_of(i));
  CHECK(samples->all().front().live == 0);
  CHECK(samples->all().front().allocs == taken);
  CHECK(samples->came(page_of(1), 1, stack));  // there is room again

  std::uint64_t sites = 0;
  for (std::uintptr_t i = 0; i < 2 * HeapSamples::most_sites; ++i)
    sites += samples->came(page_of(100'000 + i), 1, stack_of({2 * i + 1, 5})) ? 1 : 0;
  CHECK(sites < HeapSamples::most_sites);
  CHECK(samples->all().size() <= HeapSamples::most_sites);
}

TEST_CASE("heap profiler: a stack deeper than is kept is cut at its outer end") {
  const auto samples = std::make_unique<HeapSamples>();
  std::vector<void*> deep;
  for (std::uintptr_t i = 0; i < 100; ++i)
    deep.push_back(reinterpret_cast<void*>(i + 2));  // NOLINT(performance-no-int-to-ptr)
  CHECK(samples->came(page_of(1), 1, deep));
  const auto all = samples->all();
  REQUIRE(all.size() == 1);
  CHECK(all[0].stack.size() == HeapSamples::most_frames);
  CHECK(all[0].stack.front() == 1);
}

TEST_CASE("heap profiler: threads that come and go at once lose no sample") {
  const auto samples = std::make_unique<HeapSamples>();
  std::vector<std::thread> threads;
  std::atomic<std::uint64_t> refused{0};
  for (std::uint64_t thread = 0; thread < 4; ++thread)
    threads.emplace_back([&samples, &refused, thread] {
      Random random{thread + 1};
      for (std::uint64_t i = 0; i < 20'000; ++i) {
        const auto address = page_of(thread * 1'000'000 + i);
        const auto stack = stack_of({random.below(50) * 2 + 1, 0x201});
        if (!samples->came(address, 10, stack)) ++refused;
        if (i % 8 != 0) samples->went(address);
      }
    });
  for (auto& thread : threads)
    thread.join();
  std::uint64_t allocs = 0;
  std::uint64_t live = 0;
  std::set<std::vector<std::uint64_t>> stacks;
  for (const auto& sample : samples->all()) {
    allocs += sample.allocs;
    live += sample.live;
    stacks.insert(sample.stack);
  }
  CHECK(refused == 0);
  CHECK(allocs == 80'000);
  CHECK(live == 10'000);
  CHECK(stacks.size() == 50);
}

namespace {

/// Asks for memory in a function of its own, which the profile must name.
[[gnu::noinline]] std::vector<std::unique_ptr<std::string>> hoard_pieces(std::size_t pieces,
                                                                         std::size_t size) {
  std::vector<std::unique_ptr<std::string>> hoarded;
  for (std::size_t i = 0; i < pieces; ++i)
    hoarded.push_back(std::make_unique<std::string>(size, 'x'));
  return hoarded;
}

std::uint64_t bytes_of_hoard(const HeapProfile& profile, const FunctionNames& names) {
  std::uint64_t bytes = 0;
  for (const auto& sample : profile.samples)
    if (std::ranges::any_of(sample.stack, [&names](std::uint64_t address) {
          return names.at(address).find("hoard_pieces") != std::string::npos;
        }))
      bytes += scaled_up(sample.live, sample.live_bytes).second;
  return bytes;
}

}  // namespace

TEST_CASE(
    "heap profiler: the program's memory is found where it was asked for, until it is freed") {
  if (!has_heap_hooks()) {
    CHECK(heap_profile().error().what
          == "this program was built with a sanitizer, which has its own allocator");
    return;
  }
  const FunctionNames names;
  constexpr std::uint64_t total = 200'000'000;
  auto hoarded = hoard_pieces(20'000, 10'000);
  const auto held = bytes_of_hoard(heap_profile().value(), names);
  CHECK(held > total * 3 / 4);  // of some 400 samples: four deviations
  CHECK(held < total * 5 / 4);
  hoarded = std::vector<std::unique_ptr<std::string>>{};
  CHECK(bytes_of_hoard(heap_profile().value(), names) == 0);
}

TEST_CASE("heap profiler: memory beyond all bounds is refused as ever") {
  CHECK_THROWS_AS(::operator delete(::operator new (std::size_t{1} << 62U)), std::bad_alloc);
  CHECK_NOTHROW(std::make_unique<int>(1));
  const std::unique_ptr<char[]> large{new char[64 << 20U]};
  CHECK(large != nullptr);
}
