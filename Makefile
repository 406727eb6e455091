# make demo | test | build: each installs the packages it needs, configures, builds, then runs. See README.md.
JOBS ?= $(shell nproc)
OUT ?= out/hairy_ball

.PHONY: build demo test check asan fuzz clean

build: build/build.ninja
	@cmake --build build -j $(JOBS)

# Configures once; the packages are looked at again only when the list or the build's own files change, or another
# STICTION_ARCH is asked for than the build has.
ifneq ($(filter-out $(shell sed -n 's/^STICTION_ARCH:STRING=//p' build/CMakeCache.txt 2> /dev/null),$(STICTION_ARCH)),)
.PHONY: build/build.ninja
endif
build/build.ninja: CMakeLists.txt tests/CMakeLists.txt CMakePresets.json scripts/install_packages.sh
	@scripts/install_packages.sh
	@cmake --preset release $(STICTION_ARCH:%=-DSTICTION_ARCH=%) > /dev/null
	@touch $@

# Simulates 500 hairs on a turning ball for two seconds and renders the last frame. Stopped half-way, it goes on.
demo: build
	@build/stiction run examples/hairy_ball.toml -o $(OUT) --resume
	@build/stiction render $(OUT) -o $(OUT)/frames --last
	@echo
	@echo "The last frame is in $(OUT)/frames; the whole simulation opens in ParaView: $(OUT)/cache.xdmf"
	@echo "Next: build/stiction render $(OUT) -o $(OUT)/film --mp4    a film"
	@echo "      build/stiction list                                 more scenes"
	@echo "      build/stiction run examples/first_scene.toml -o out/first --set groom.0.strands=1000"

test: build
	@ctest --test-dir build --output-on-failure -j $(JOBS)

# Formatting of every source file, static analysis of all but the tests.
check: build
	@scripts/check_sources.sh

# The unit tests under the sanitizers of addresses and undefined behaviour.
# Without AVX-512, whose intrinsics GCC 12 warns about in unoptimised code.
asan:
	@scripts/install_packages.sh
	@cmake --preset asan -DSTICTION_ARCH=x86-64-v3 > /dev/null
	@cmake --build build-asan -j $(JOBS) --target test_unit
	@scripts/run_shards.sh build-asan/tests/test_unit $(JOBS)

fuzz:
	@scripts/install_packages.sh
	@cmake --preset fuzz > /dev/null
	@cmake --build build-fuzz -j $(JOBS)

clean:
	@rm -rf build build-* out
