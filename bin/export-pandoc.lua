-- Makes a text fit for an EPUB, which is XHTML and refuses what browsers forgive: links that lead out of the book to
-- files that are not in it, ids that come twice, HTML that is never closed, attributes that HTML does not know.

local ids = {}

-- Keeps an id the first time; later ones get a number (headings, which the contents lead to) or none.
local function claim(id, must_have)
  if id == '' then return '' end
  if ids[id] and not must_have then return '' end
  local free, number = id, 1
  while ids[free] do
    number = number + 1
    free = id .. '-' .. number
  end
  ids[free] = true
  return free
end

local kept = { lang = true, dir = true }
local kept_of_image = { lang = true, dir = true, width = true, height = true }

local function clean(element)
  element.identifier = claim(element.identifier, element.t == 'Header')
  local names, attributes = element.t == 'Image' and kept_of_image or kept, {}
  for name, value in pairs(element.attributes) do
    if names[name] then attributes[name] = value end
  end
  element.attributes = attributes
  return element
end

local function clean_rows(rows)
  for _, row in ipairs(rows) do
    row.attr = pandoc.Attr()
    for _, cell in ipairs(row.cells) do cell.attr = pandoc.Attr() end
  end
end

local function clean_table(element)
  clean_rows(element.head.rows)
  for _, body in ipairs(element.bodies) do
    clean_rows(body.head)
    clean_rows(body.body)
  end
  clean_rows(element.foot.rows)
  return clean(element)
end

-- Nothing is fetched from other machines, and a picture that is not there leaves its description.
local function image(element)
  local remote = element.src:match('^%a[%w+.-]+:')
  if remote or not pcall(pandoc.mediabag.fetch, element.src) then return element.caption end
  return clean(element)
end

-- Anchors and pictures in a heading would come again in the contents, empty or with a broken path; so would a heading
-- without text.
local function plain_heading(header)
  header.content = pandoc.walk_block(header, {
    Span = function(span) return span.content end,
    Image = function(image) return image.caption end,
    Note = function() return {} end,
  }).content
  if not pandoc.utils.stringify(header):gsub('\u{a0}', ' '):match('%S') then return {} end
  return header
end

local function raw_inline(raw)
  if raw.text:lower():match('^<br%s*/?>$') then return pandoc.LineBreak() end
  return {}
end

local function raw_block(raw)
  if not raw.format:match('^html') then return {} end
  return pandoc.read(raw.text, 'html-raw_html').blocks
end

local function leads_somewhere(target)
  if target:match('^#') then return ids[target:sub(2)] end
  return target:match('^https?://[%w%[]') and not target:match('[%s\\"<>{}|^`]')
end

local function link(element)
  if leads_somewhere(element.target) then return element end
  return pandoc.Span(element.content, pandoc.Attr(element.identifier)) -- other links may lead to this one
end

return {
  { Header = plain_heading, RawInline = raw_inline, RawBlock = raw_block },
  { Header = clean },
  { Div = clean, Span = clean, Code = clean, CodeBlock = clean, Image = image, Link = clean, Table = clean_table },
  { Link = link },
}
