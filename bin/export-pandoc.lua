-- Makes a text fit for an EPUB, which is XHTML and refuses what browsers forgive: links that lead out of the book to
-- files that are not in it, ids that come twice, HTML that is never closed, attributes that HTML does not know, and a
-- book without a title.

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

local function has_text(value)
  return value and pandoc.utils.stringify(value):gsub('\u{a0}', ' '):match('%S')
end

local function first_heading(blocks)
  local first
  pandoc.walk_block(pandoc.Div(blocks), {
    Header = function(header) first = first or header.content end,
  })
  return first
end

-- The first input's name without its directory and extension, as text that XML can hold.
local function name_of_file()
  local name = (PANDOC_STATE.input_files[1] or ''):gsub('.*/', ''):gsub('(.)%.[^.]*$', '%1'):gsub('%c', ' ')
  return name:match('%S') and name or 'Untitled'
end

-- An EPUB must have a title: the given one, or the text's own, or its first heading, or else the name of the file.
local function titled(doc)
  if not has_text(doc.meta.title) then
    doc.meta.title = pandoc.MetaInlines(first_heading(doc.blocks) or { pandoc.Str(name_of_file()) })
  end
  return doc
end

return {
  { Header = plain_heading, RawInline = raw_inline, RawBlock = raw_block },
  { Header = clean },
  { Div = clean, Span = clean, Code = clean, CodeBlock = clean, Image = image, Link = clean, Table = clean_table },
  { Link = link },
  { Pandoc = titled },
}
