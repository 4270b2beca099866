-- Work for most parts of the interpreter; prints what must not change.
local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
print(fib(18))

local words = {}
for w in ("the quick brown fox jumps over the lazy dog"):gmatch("%a+") do words[#words + 1] = w end
table.sort(words, function(a, b) return a > b end)
print(table.concat(words, " "), #words, select("#", table.unpack(words)))

local co = coroutine.wrap(function(a)
  for i = 1, 5 do a = coroutine.yield(a * i) end
  return "end"
end)
for i = 1, 6 do io.write(tostring(co(i)), " ") end
print()

print(pcall(error, { code = 7 }), select(2, pcall(function() local x = nil; return x.y end)))
print(xpcall(function() error("deep") end, function(m) return "handled: " .. m end))

local mt = setmetatable({}, {
  __index = function(_, k) return k .. "!" end,
  __add = function() return 42 end,
  __call = function(_, ...) return select("#", ...) end,
  __gc = function() end,
  __close = function() print("closed") end,
})
print(mt.hello, mt + 1, mt(1, 2, 3))
do local held <close> = mt end

print(string.format("%5.2f|%-8s|%08x|%q", math.pi, "left", 48879, "a\nb"))
print(("x"):rep(10, ","), ("abc"):reverse(), ("%d+"):len(), string.pack("<i4", 77):byte(1, -1))
print(utf8.char(228, 8364, 128640), utf8.len("äöü"), 7 // 2, -7 // 2, -7 % 3, 2 ^ 10, 1 << 40)
print(load("local a <const> = 5; return a * 2, ...")("rest"))
local dumped = string.dump(function(a) return a + 1 end)
print(load(dumped, "d", "b")(41))

local big = {}
for i = 1, 20000 do big[i] = { i, tostring(i) } end
for i = 1, 20000, 2 do big[i] = nil end
collectgarbage()
collectgarbage("generational")
collectgarbage("incremental")
local sum = 0
for _, v in pairs(big) do sum = sum + v[1] + #v[2] end
print(sum, #arg)
for i = 3, 1, -1 do goto continue; print("never") ::continue:: end
print(os.time({ year = 2000, month = 1, day = 1, hour = 12 }) > 0, type(os.clock()))
print(tostring(1e100), 0x7fffffffffffffff + 1 == math.mininteger, math.tointeger("8"), 3 | 4)
