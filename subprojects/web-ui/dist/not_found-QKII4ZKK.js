import{a,b}from"./chunk-XLOLQLET.js";import"./chunk-SJGB4AQE.js";export{a as NotFound,b as NotFoundPage};
